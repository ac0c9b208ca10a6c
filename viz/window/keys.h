// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QKeyEvent>

#include "viz/session/viewing.h"

namespace ringscope::viz {

/// Applies a key of the main window to the cursor and the player. Returns false for other keys.
/// Space plays and pauses. ←/→ ring step, Shift a whole pass, Ctrl training step. Home, End. 1 to 8
/// select a rank. F follows the live head, T changes the axis, + and − the speed.
bool applyKey(Viewing& viewing, const QKeyEvent& event);

/// Reports whether applyKey() knows the key.
bool isTransportKey(const QKeyEvent& event);

}  // namespace ringscope::viz
