// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QKeyEvent>

namespace ringscope::viz {

/// Returns the key of an event, or Key_unknown when a modifier is held: Ctrl+F is not F. The number
/// pad does not count as a modifier. A sign may need Shift or AltGr on the user's keyboard, so
/// these do not count for signs.
inline int plainKey(const QKeyEvent& event) {
  const int key = event.key();
  const bool is_letter = key >= Qt::Key_A && key <= Qt::Key_Z;
  const bool is_digit = key >= Qt::Key_0 && key <= Qt::Key_9;
  const bool is_sign = key > Qt::Key_Space && key <= Qt::Key_AsciiTilde && !is_letter && !is_digit;
  Qt::KeyboardModifiers with = event.modifiers() & ~Qt::KeypadModifier;
  if (is_sign) with &= ~(Qt::ShiftModifier | Qt::GroupSwitchModifier);
  return with == Qt::NoModifier ? key : Qt::Key_unknown;
}

}  // namespace ringscope::viz
