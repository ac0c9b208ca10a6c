// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "tests/viz/drawn.h"

namespace ringscope::test {

/// Returns one sentence per illegible piece of text. The text is cut by its rectangle, extends
/// beyond its widget, is covered by something drawn later, or overlaps other text. Text that is
/// completely invisible, for example scrolled out, is allowed.
std::vector<std::string> illegible(const Drawn& picture);

/// Returns the words in a part of a drawing, in the order of drawing. Comparing them with a
/// sentence shows what was omitted for lack of room, or wrapped.
std::string wordsIn(const Drawn& picture, const QRectF& part);

}  // namespace ringscope::test
