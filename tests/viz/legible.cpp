// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/viz/legible.h"

namespace ringscope::test {
namespace {

/// The distance by which letters may extend beyond their rectangle.
constexpr double kSlack = 1.5;

bool isIn(const QRectF& outer, const QRectF& inner) {
  return outer.adjusted(-kSlack, -kSlack, kSlack, kSlack).contains(inner);
}

bool goesBeyondSides(const DrawnText& text) {
  return !text.seen.isEmpty() && (text.ink.left() < text.seen.left() - kSlack ||
                                  text.ink.right() > text.seen.right() + kSlack);
}

bool meet(const QRectF& a, const QRectF& b) {
  const QRectF both = a & b;
  return both.width() > kSlack && both.height() > kSlack;
}

std::string where(const DrawnText& text) {
  return "'" + text.words.toStdString() + "' at " + std::to_string(std::lround(text.ink.x())) +
         ", " + std::to_string(std::lround(text.ink.y()));
}

}  // namespace

std::vector<std::string> illegible(const Drawn& picture) {
  std::vector<std::string> wrong;
  std::vector<const DrawnText*> seen;
  for (const DrawnText& text : picture.texts()) {
    if (text.ink.isEmpty() || (!text.seen.isEmpty() && !text.seen.intersects(text.ink))) continue;
    if (text.within && !isIn(*text.within, text.ink)) wrong.push_back(where(text) + " is cut");
    if (goesBeyondSides(text)) wrong.push_back(where(text) + " goes beyond its widget");
    for (std::size_t i = text.shapes_before; i < picture.shapes().size(); ++i) {
      const DrawnShape& shape = picture.shapes()[i];
      if (shape.fill.alpha() == 255 && meet(shape.seen, text.ink)) {
        wrong.push_back(where(text) + " is covered");
        break;
      }
    }
    for (const DrawnText* other : seen)
      if (meet(other->ink, text.ink)) wrong.push_back(where(text) + " lies upon " + where(*other));
    seen.push_back(&text);
  }
  return wrong;
}

std::string wordsIn(const Drawn& picture, const QRectF& part) {
  QString all;
  for (const DrawnText& text : picture.texts())
    if (part.contains(text.ink.center())) all += text.words + " ";
  return all.simplified().toStdString();
}

}  // namespace ringscope::test
