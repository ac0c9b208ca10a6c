// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QKeyEvent>

#include "viz/hub/hub.h"

namespace ringscope::viz {

/// What the keys of the main window do to the hub; false when a key means nothing here.
/// Space plays and holds. ←/→ ring step, Shift a whole pass, Ctrl training step. Home, End. 1 to 8
/// select a rank. F follows the live head, T changes the axis, + and − the speed.
bool applyKey(Hub& hub, const QKeyEvent& event);

}  // namespace ringscope::viz
