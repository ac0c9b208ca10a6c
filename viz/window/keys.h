// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QKeyEvent>
#include <QKeySequence>
#include <functional>
#include <vector>

#include "viz/session/viewing.h"

namespace ringscope::viz {

/// Applies a key of the main window to the cursor and the player. Returns false for other keys.
/// Space plays and pauses. ←/→ ring step, Shift a whole pass, Ctrl training step. Home, End. 1 to 8
/// select a rank. F follows the live head, T changes the axis, + and − the speed. A key with
/// another modifier, such as Ctrl+F, is not one of these keys.
bool applyKey(Viewing& viewing, const QKeyEvent& event);

/// Reports whether applyKey() knows the key.
bool isTransportKey(const QKeyEvent& event);

/// One of these keys as a command of the window.
struct KeyCommand {
  QString text;
  QKeySequence key;
  std::function<void(Viewing& viewing)> run;
};
/// Returns all keys of applyKey() as commands.
std::vector<KeyCommand> keyCommands();

}  // namespace ringscope::viz
