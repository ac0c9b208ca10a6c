// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/viz/painted_words.h"

#include <algorithm>
#include <cmath>

namespace ringscope::facts {
namespace {

std::string plain(const std::string& words) {
  return QString::fromStdString(words).simplified().toStdString();
}

/// Reports whether one piece continues another on its line: a letter that a font lacks ends a
/// piece.
bool goesOn(const test::DrawnText& before, const test::DrawnText& after) {
  return std::abs(before.at.y() - after.at.y()) < 0.5 &&
         std::abs(before.at.x() + before.width - after.at.x()) < 1.5;
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// Reports whether the text is the beginning of the wanted text and "…", because the rest had no
/// room. A number is never cut.
bool isBeginning(const std::string& said, const std::string& wanted) {
  const std::string dots = "…";
  if (!said.ends_with(dots)) return false;
  const std::string begin =
      said.substr(0, said.find_last_not_of(' ', said.size() - dots.size() - 1) + 1);
  if (begin.empty() || !wanted.starts_with(begin)) return false;
  return !isDigit(begin.back()) || wanted.compare(begin.size(), 2, ", ") == 0 ||
         wanted.compare(begin.size(), 2, "; ") == 0;
}

}  // namespace

PaintedWords::PaintedWords(const test::Drawn& page) {
  const test::DrawnText* before = nullptr;
  for (const test::DrawnText& text : page.texts()) {
    if (before && goesOn(*before, text))
      lines_.back() += text.words.toStdString();
    else
      lines_.push_back(text.words.toStdString());
    before = &text;
  }
  for (std::string& line : lines_) line = plain(line);
}

bool PaintedWords::take(const std::string& words) {
  const std::string wanted = plain(words);
  for (std::size_t first = 0; first < lines_.size(); ++first) {
    std::string said = lines_[first];
    std::size_t last = first;
    const bool begins = isBeginning(said, wanted);
    while (!begins && said.size() < wanted.size() && last + 1 < lines_.size())
      said += " " + lines_[++last];
    if (said != wanted && !begins) continue;
    lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(first),
                 lines_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    return true;
  }
  return false;
}

void PaintedWords::must(const std::string& words) {
  if (take(words)) return;
  std::string said;
  for (const std::string& line : lines_) said += "\n  " + line;
  ADD_FAILURE() << "the page does not say: " << words
                << "\nwhat it says and was not taken:" << said;
}

void PaintedWords::may(const std::string& words) {
  while (!words.empty() && take(words)) continue;
}

void PaintedWords::expectNoOtherNumbers() const {
  for (const std::string& line : lines_)
    EXPECT_FALSE(std::ranges::any_of(line, [](char c) { return c >= '0' && c <= '9'; }))
        << "nothing explains: " << line;
}

std::string decimals(double value, int digits, char format) {
  return QString::number(value, format, digits).toStdString();
}

}  // namespace ringscope::facts
