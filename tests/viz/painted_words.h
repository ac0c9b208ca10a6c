// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/viz/drawn.h"

namespace ringscope::facts {

/// The lines of words on a painted page. What a page may say is taken from it; a number that is
/// left then is one that nothing explains.
class PaintedWords {
 public:
  explicit PaintedWords(const test::Drawn& page);

  /// The page says this, on one line or wrapped.
  void must(const std::string& words);
  /// It may say this, as often as it likes.
  void may(const std::string& words);
  /// The same for whole lines that fulfil a condition.
  template <typename Condition>
  void mayBe(Condition condition) {
    std::erase_if(lines_, condition);
  }
  /// Whether it says this; takes the first place where it does.
  bool take(const std::string& words);
  void expectNoOtherNumbers() const;

 private:
  std::vector<std::string> lines_;
};

/// A large page, on which nothing has to be cut short.
template <typename Paint>
PaintedWords paintedWords(Paint paint, const QSizeF& size = {3840, 2160}) {
  return PaintedWords(*test::drawn(size, paint));
}

/// "0.25" of 0.25 with two decimals; "2.5e-01" with format 'e'.
std::string decimals(double value, int digits, char format = 'f');

}  // namespace ringscope::facts
