// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/viz/drawn.h"

namespace ringscope::facts {

/// The lines of words on a painted page. Expected words are taken from the page; a number that
/// remains is unexplained.
class PaintedWords {
 public:
  explicit PaintedWords(const test::Drawn& page);

  /// Expects this text, on one line or wrapped, and takes it.
  void must(const std::string& words);
  /// Takes every occurrence of this text; there may be none.
  void may(const std::string& words);
  /// Takes every whole line that fulfils a condition.
  template <typename Condition>
  void mayBe(Condition condition) {
    std::erase_if(lines_, condition);
  }
  /// Takes the first occurrence of this text. Returns whether there is one.
  bool take(const std::string& words);
  void expectNoOtherNumbers() const;

 private:
  std::vector<std::string> lines_;
};

/// Paints a large page, on which nothing has to be cut.
template <typename Paint>
PaintedWords paintedWords(Paint paint, const QSizeF& size = {3840, 2160}) {
  return PaintedWords(*test::drawn(size, paint));
}

/// Formats a number: "0.25" for 0.25 with two decimals; "2.5e-01" with format 'e'.
std::string decimals(double value, int digits, char format = 'f');

}  // namespace ringscope::facts
