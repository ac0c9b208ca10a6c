// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/doctor/doctor_painter.h"

#include <algorithm>

#include "viz/kit/page.h"
#include "viz/style/elide.h"

namespace ringscope::viz {
namespace {

QColor colorOf(const FindingCard& card, const Theme& theme) {
  if (card.verdict == traces::Verdict::kFound) return theme.wrong;
  if (card.advice) return theme.wait;
  return card.applies && card.verdict == traces::Verdict::kClear ? theme.right : theme.dim;
}

std::string titleOf(const FindingCard& card) {
  const bool clear = card.applies && card.verdict == traces::Verdict::kClear;
  const char* glyph = card.verdict == traces::Verdict::kFound ? "▲ "
                      : card.advice                           ? "+ "
                      : clear                                 ? "✓ "
                                                              : "– ";
  return glyph + card.title;
}

QFont titleFont() {
  return textFont(15, QFont::DemiBold);
}

QRectF cardOf(const QRectF& box) {
  return box.adjusted(8, 4, -8, -6);
}

double textHeight(const std::string& words, double width, const QFont& font = textFont(13)) {
  return wrappedHeight(text(words), font, width);
}

QFont headlineFont() {
  return textFont(17, QFont::DemiBold);
}

QRectF headlineOf(const QRectF& area, const DoctorScene& scene) {
  const double width = area.width() - 48;
  const double height = std::max(28.0, textHeight(scene.headline, width, headlineFont()));
  return {area.left() + 24, area.top() + 12, width, height};
}

QRectF reachOf(const QRectF& area, const DoctorScene& scene) {
  const QRectF headline = headlineOf(area, scene);
  const double height = scene.reach.empty() ? 0 : textHeight(scene.reach, headline.width()) + 6;
  return {headline.left(), headline.bottom() + 4, headline.width(), height};
}

void drawGround(QPainter& p, const QRectF& card, const QColor& ink, bool selected,
                const Theme& theme) {
  p.setPen(QPen(selected ? theme.accent : theme.line, selected ? 2 : 1));
  p.setBrush(theme.panel);
  p.drawRoundedRect(card, 8, 8);
  p.setPen(Qt::NoPen);
  p.setBrush(ink);
  p.drawRoundedRect(QRectF(card.left() + 8, card.top() + 12, 4, card.height() - 24), 2, 2);
}

}  // namespace

double findingCardHeight(const FindingCard& card, double width) {
  const double room = width - 72;
  double height =
      26 + textHeight(titleOf(card), room, titleFont()) + textHeight(card.evidence, room);
  if (!card.remedy.empty()) height += 26 + textHeight(card.remedy, room);
  if (!card.view.empty()) height += 26;
  return height + 12;
}

void paintFindingCard(QPainter& p, const QRectF& box, const FindingCard& card, bool selected,
                      const Theme& theme) {
  const QColor color = colorOf(card, theme);
  drawGround(p, cardOf(box), color, selected, theme);
  QRectF space = cardOf(box).adjusted(24, 10, -16, 0);
  auto say = [&](const std::string& words, const QFont& font, const QColor& ink, double gap) {
    if (words.empty()) return;
    space = writeWrapped(p, space, text(words), font, ink, gap);
  };
  const bool found = card.verdict == traces::Verdict::kFound;
  say(titleOf(card), titleFont(), color, 6);
  say(card.evidence, textFont(13), found || card.advice ? theme.text : theme.dim, 8);
  if (!card.remedy.empty()) {
    say(found ? "WHAT TO CHANGE" : "WHAT TO ADD", partFont(), theme.dim, 2);
    say(card.remedy, textFont(13), theme.text, 8);
  }
  if (!card.view.empty())
    say("→ see it in " + card.view + " (Enter, or double click)", textFont(12, QFont::Medium),
        theme.accent, 0);
}

void paintDoctorHead(QPainter& p, const QRectF& area, const DoctorScene& scene,
                     const Theme& theme) {
  p.fillRect(area, theme.background);
  if (!scene.note.empty()) return paintNote(p, area, scene.note, theme);
  const QColor& color = scene.found ? theme.wrong : scene.clear ? theme.right : theme.wait;
  write(p, headlineOf(area, scene), text(scene.headline), headlineFont(), color,
        Qt::AlignVCenter | Qt::TextWordWrap);
  if (scene.reach.empty()) return;
  write(p, reachOf(area, scene), text(scene.reach), textFont(13), theme.dim, Qt::TextWordWrap);
}

QRectF doctorCards(const QRectF& area, const DoctorScene& scene) {
  return area.adjusted(16, reachOf(area, scene).bottom() - area.top() + 8, -16, -8);
}

void paintDoctor(QPainter& p, const QRectF& area, const DoctorScene& scene, const Theme& theme) {
  paintDoctorHead(p, area, scene, theme);
  const QRectF list = doctorCards(area, scene);
  double y = list.top();
  for (const FindingCard& card : scene.cards) {
    const double height = findingCardHeight(card, list.width());
    if (y + height > list.bottom()) return;
    paintFindingCard(p, QRectF(list.left(), y, list.width(), height), card, false, theme);
    y += height;
  }
}

}  // namespace ringscope::viz
