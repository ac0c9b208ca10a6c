// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "tests/viz/drawn.h"

namespace ringscope::test {

/// What is wrong with the words of a drawing, a sentence each: words that the rectangle they are
/// drawn into cuts, that go beyond the side of their widget, that something drawn later covers, or
/// that lie upon other words. Words of which nothing is seen, as they are scrolled out, are fine.
std::vector<std::string> illegible(const Drawn& picture);

/// The words that stand in a part of a drawing, in the order of drawing: what was left out of a
/// sentence for want of room, or wrapped, can be told from the sentence.
std::string wordsIn(const Drawn& picture, const QRectF& part);

}  // namespace ringscope::test
