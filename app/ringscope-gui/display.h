// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace ringscope::app {

/// A guard that holds back what Qt writes to stderr while a QApplication is constructed. If Qt
/// finds no display and would abort with a core dump, the program ends with exit code 2 and one
/// sentence. Otherwise the destructor writes the text that was held back. Only one may exist at a
/// time.
class DisplayWatch {
 public:
  DisplayWatch();
  ~DisplayWatch();
  DisplayWatch(const DisplayWatch&) = delete;
  DisplayWatch& operator=(const DisplayWatch&) = delete;
};

}  // namespace ringscope::app
