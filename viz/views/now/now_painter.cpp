// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/now/now_painter.h"

#include <algorithm>

#include "viz/kit/page.h"
#include "viz/scene/units.h"
#include "viz/style/elide.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

constexpr double kNowMargin = 48, kSentenceTop = 64, kNowFoot = 44, kNowLeastPitch = 18;
constexpr double kAttending = 176, kBetween = 14;  // where it begins; to the numbers

QString toSentence(const RingScene& scene) {
  QString sentence = text(scene.sentence);
  if (!sentence.isEmpty()) sentence[0] = sentence[0].toUpper();
  return sentence;
}

/// Long enough to be said, in the colour of waiting.
bool waitsLong(const RankScene& rank) {
  return rank.wait_ns > rank.attend_ns / 4;
}

QString numbersFrom(const RankScene& rank) {
  QString words = describeDuration(rank.attend_ns).c_str();
  if (rank.lse_after.known())
    words = QString("lse %1 · ").arg(rank.lse_after.mean, 0, 'f', 2) + words;
  const bool waits = waitsLong(rank);
  if (waits) words += QString(" · waits %1").arg(describeDuration(rank.wait_ns).c_str());
  if (waits && rank.waits_for.exists())
    words += QString(" for rank %1").arg(rank.waits_for.value());
  return words;
}

/// The largest letters in which what each rank attends stands beside its numbers.
int lettersFor(const RingScene& scene, double room, double pitch) {
  constexpr int kSizes[] = {15, 13, 11, 10};
  for (const int size : kSizes) {
    if (size > (pitch > 34 ? 15 : pitch > 24 ? 13 : 11)) continue;
    const QFontMetricsF words(textFont(size)), numbers(monoFont(size));
    if (std::ranges::all_of(scene.ranks, [&](const RankScene& rank) {
          return kAttending + words.horizontalAdvance(text(rank.attending)) + kBetween +
                     numbers.horizontalAdvance(numbersFrom(rank)) <=
                 room;
        }))
      return size;
  }
  return std::end(kSizes)[-1];
}

/// Draws the words for what a rank attends, and its numbers at the right. The numbers are never
/// cut.
void drawWords(QPainter& p, const QRectF& line, const RankScene& rank, int size,
               const Theme& theme) {
  const QString numbers = numbersFrom(rank);
  write(p, line, numbers, monoFont(size), waitsLong(rank) ? theme.wait : theme.dim,
        Qt::AlignVCenter | Qt::AlignRight);
  const double room = line.width() - p.fontMetrics().horizontalAdvance(numbers) - kBetween;
  p.setFont(textFont(size));
  p.setPen(rank.queries ? theme.text : theme.dim);
  p.drawText(line, Qt::AlignVCenter, elided(p.fontMetrics(), text(rank.attending), room));
}

/// A line a rank.
void drawRanks(QPainter& p, const QRectF& area, const RingScene& scene, double top,
               const Theme& theme) {
  const double left = area.left() + kNowMargin, room = area.width() - 2 * kNowMargin;
  const double pitch =
      std::clamp((area.bottom() - kNowFoot - top) / static_cast<double>(scene.ranks.size()),
                 kNowLeastPitch, 48.0);
  const int size = lettersFor(scene, room, pitch);
  double y = top;
  for (const RankScene& rank : scene.ranks) {
    if (rank.rank == scene.selected) {
      p.setPen(Qt::NoPen);
      p.setBrush(theme.raised);
      p.drawRoundedRect(QRectF(left - 12, y, room + 24, pitch - 4), 6, 6);
    }
    write(p, QRectF(left, y, 80, pitch - 4), QString("rank %1").arg(rank.rank.value()),
          textFont(size, QFont::DemiBold), theme.text);
    if (rank.held_source.exists())
      paintFace(p, QRectF(left + 80, y + 1, 78, std::min(28.0, pitch - 4)), rank.held_source,
                QString("KV %1").arg(rank.held_source.value()), theme);
    drawWords(p, QRectF(left + kAttending, y, room - kAttending, pitch - 4), rank, size, theme);
    y += pitch;
  }
}

}  // namespace

void paintNow(QPainter& p, const QRectF& area, const RingScene& scene, double, const Theme& theme) {
  p.fillRect(area, theme.background);
  if (scene.ranks.empty()) return paintNote(p, area, scene.note, theme);
  const double left = area.left() + kNowMargin, room = area.width() - 2 * kNowMargin;
  write(p, QRectF(left, area.top() + 28, room, 24),
        QString("step %1 · layer %2 · %3 · ring step %4 of %5")
            .arg(scene.place.train_step)
            .arg(scene.place.layer.value())
            .arg(traces::name(scene.place.direction))
            .arg(scene.place.stage.value())
            .arg(scene.ring_steps),
        textFont(15), theme.dim);
  p.setFont(textFont(area.height() < 420 || scene.ranks.size() > 8 ? 22 : 28, QFont::DemiBold));
  p.setPen(theme.text);
  QRectF used;
  p.drawText(QRectF(left, area.top() + kSentenceTop, room, area.height()), Qt::TextWordWrap,
             toSentence(scene), &used);
  drawRanks(p, area, scene, used.bottom() + 24, theme);
  write(p, QRectF(left, area.bottom() - 34, room, 20),
        "Space: the next ring step · ←: the one before · 1–8, R: about another rank", textFont(12),
        theme.dim);
}

double nowHeight(double width, const RingScene& scene) {
  if (scene.ranks.empty()) return 0;
  const double sentence =
      wrappedHeight(toSentence(scene), textFont(22, QFont::DemiBold), width - 2 * kNowMargin);
  return kSentenceTop + sentence + 24 + kNowLeastPitch * static_cast<double>(scene.ranks.size()) +
         kNowFoot;
}

}  // namespace ringscope::viz
