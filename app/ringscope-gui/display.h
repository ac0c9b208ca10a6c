// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace ringscope::app {

/// While it lives, what Qt writes is held back. Where Qt finds no display to draw on, and would
/// abort with a core dump, the program ends with exit code 2 and one sentence instead. Otherwise
/// the end of its life writes what was held back. One at a time, around the QApplication's
/// construction.
class DisplayWatch {
 public:
  DisplayWatch();
  ~DisplayWatch();
  DisplayWatch(const DisplayWatch&) = delete;
  DisplayWatch& operator=(const DisplayWatch&) = delete;
};

}  // namespace ringscope::app
