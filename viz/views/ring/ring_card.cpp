// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/ring/ring_card.h"

#include <QPainterPath>

#include "viz/kit/page.h"
#include "viz/scene/units.h"
#include "viz/style/elide.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

/// One attended cell of the small coverage matrix: a square, or its causal half; outlined while it
/// is being attended. Small cells are plain rectangles: there are a thousand of them in a ring of
/// 16 ranks.
void drawCell(const RingCanvas& c, const QRectF& cell, const CoverageCell& what) {
  const bool fine = cell.width() >= 6;
  const QBrush brush = what.now && fine
                           ? rankBrush(what.source_rank)
                           : QBrush(faded(rankColor(what.source_rank), what.now ? 255 : 170));
  if (what.diagonal && fine) {
    c.p.setPen(Qt::NoPen);
    c.p.setBrush(brush);
    c.p.drawPolygon(QPolygonF{cell.topLeft(), cell.bottomLeft(), cell.bottomRight()});
    return;
  }
  c.p.fillRect(cell, brush);
  if (!what.now || !fine) return;
  c.p.setBrush(Qt::NoBrush);
  c.p.setPen(QPen(c.theme.text, std::max(1.0, c.s(1.4))));
  c.p.drawRect(cell);
}

void drawMatrix(const RingCanvas& c, const QRectF& box, const RankScene& rank) {
  const int n = c.scene.chunk_count;
  if (n == 0 || box.width() < 24) return;
  const double pitch = box.width() / n, size = pitch * 0.84;
  auto cell = [&](int q, int k) {
    return QRectF(box.left() + k * pitch, box.top() + q * pitch, size, size);
  };
  // The ground is one rectangle a row, cut into cells by lines of the card's colour.
  for (int q = 0; q < n; ++q) {
    const bool own = std::find(rank.chunks.begin(), rank.chunks.end(), q) != rank.chunks.end();
    c.p.fillRect(QRectF(box.left(), box.top() + q * pitch, box.width() - pitch + size, size),
                 own ? c.theme.line : c.theme.raised);
  }
  for (int k = 1; k < n; ++k)
    c.p.fillRect(
        QRectF(box.left() + k * pitch - (pitch - size), box.top(), pitch - size, box.height()),
        c.theme.panel);
  for (const CoverageCell& what : rank.cells)
    drawCell(c, cell(what.query_chunk, what.key_chunk), what);
}

QString ownedText(const RankScene& rank) {
  if (rank.chunks.empty()) return "chunks not recorded";
  return QString(rank.chunks.size() > 1 ? "chunks %1" : "chunk %1")
      .arg(text(listedNumbers(rank.chunks)));
}

/// The card itself, with the rank's own colour and pattern down its left side.
void drawCardGround(const RingCanvas& c, const QRectF& card, WorldRank rank) {
  const bool selected = rank == c.scene.selected;
  c.p.setPen(QPen(selected ? c.theme.accent : c.theme.line, selected ? std::max(1.5, c.s(2)) : 1));
  c.p.setBrush(c.theme.panel);
  c.p.drawRoundedRect(card, c.s(8), c.s(8));
  // A path of its own: under a clip its edge would depend on how much is drawn again.
  QPainterPath outline, side;
  outline.addRoundedRect(card, c.s(8), c.s(8));
  side.addRect(card.left(), card.top(), std::max(3.0, c.s(6)), card.height());
  c.p.save();
  c.p.setBrushOrigin(card.topLeft());
  c.p.fillPath(outline.intersected(side), rankBrush(rank));
  c.p.restore();
}

/// All blocks that lie here at once, side by side.
void drawGathered(const RingCanvas& c, const QRectF& box, const RankScene& rank) {
  const double width = box.width() / static_cast<double>(rank.sources.size());
  double x = box.left();
  for (const WorldRank source : rank.sources) {
    paintFace(c.p, QRectF(x, box.top(), width - c.s(2), box.height()), source,
              QString::number(source.value()), c.theme);
    x += width;
  }
}

void drawCompactCard(const RingCanvas& c, const QRectF& card, const RankScene& rank) {
  drawCardGround(c, card, rank.rank);
  const QRectF inside = card.adjusted(c.s(24), c.s(8), -c.s(16), -c.s(8));
  write(c.p, QRectF(inside.topLeft(), QSizeF(inside.width() * 0.4, inside.height() * 0.5)),
        QString::number(rank.rank.value()), textFont(c.font(34), QFont::DemiBold), c.theme.text,
        Qt::AlignVCenter | Qt::AlignLeft);
  const QRectF face(inside.left() + inside.width() * 0.36, inside.top() + c.s(2),
                    inside.width() * 0.64, c.s(62));
  if (rank.sources.size() > 1)
    drawGathered(c, face, rank);
  else if (rank.held_source.exists())
    paintFace(c.p, face, rank.held_source, QString("KV %1").arg(rank.held_source.value()), c.theme);
  const auto [words, color] = activity(c, rank);
  write(c.p,
        QRectF(inside.left(), inside.center().y() + c.s(6), inside.width(),
               inside.height() / 2 - c.s(6)),
        words.section(' ', 0, 0), textFont(c.font(28), QFont::Medium), color,
        Qt::AlignVCenter | Qt::AlignLeft);
}

/// "held"; or, where the sequence has been turned into heads, which part of them this rank has.
QString heldText(const RingCanvas& c, const RankScene& rank) {
  const int shared = c.scene.heads_shared_by;
  if (shared == 1) return "held";
  return QString("heads %1/%2").arg(c.scene.rankSeat(rank.rank).value() % shared + 1).arg(shared);
}

/// In the largest of a few sizes that has room for the words; what has none ends in "…".
void sayWithin(const RingCanvas& c, const QRectF& where, const QString& words, const QColor& color,
               int size, QFont::Weight weight = QFont::Normal) {
  constexpr int kSmallest = 9;
  c.p.setFont(textFont(size, weight));
  while (size > kSmallest && c.p.fontMetrics().horizontalAdvance(words) > where.width())
    c.p.setFont(textFont(--size, weight));
  writeElided(c.p, where, words, textFont(size, weight), color, Qt::AlignVCenter | Qt::AlignLeft);
}

/// Returns the words for what the rank attends. If it attends nothing, another line of the card
/// gives the reason.
QString attendingText(const RankScene& rank) {
  return rank.known && rank.queries == 0 ? "attends nothing" : text(rank.attending);
}

/// Draws the block that is held or gathered, from the left edge of `face` up to `right`.
void drawHeld(const RingCanvas& c, const RankScene& rank, const QRectF& face, double right,
              int size) {
  const QRectF room(face.topLeft(), QPointF(right, face.bottom()));
  if (rank.sources.size() > 1) {
    drawGathered(c, room, rank);
  } else if (rank.held_source.exists()) {
    paintFace(c.p, face, rank.held_source, QString("KV %1").arg(rank.held_source.value()), c.theme);
    sayWithin(c, room.adjusted(face.width() + c.s(8), 0, 0, 0), heldText(c, rank), c.theme.dim,
              size);
  } else {
    sayWithin(c, room, "not recorded here", c.theme.dim, size);
  }
}

/// Makes lines of a card that begin at `left`: from their top and height in the card's own units,
/// and where they end.
auto linesOf(const RingCanvas& c, const QRectF& card, double left) {
  return [&c, card, left](double top, double height, double right) {
    return QRectF(QPointF(left, card.top() + c.s(top)),
                  QPointF(right, card.top() + c.s(top + height)));
  };
}

/// The full card's words in letters that can be read, and fewer of them.
void drawSmallCard(const RingCanvas& c, const QRectF& card, const RankScene& rank) {
  const int title_size = std::clamp(c.font(18), 13, 16), letters = std::clamp(c.font(15), 11, 12);
  drawCardGround(c, card, rank.rank);
  const double left = card.left() + c.s(18);
  const QRectF matrix(card.right() - c.s(86), card.top() + c.s(10), c.s(76), c.s(76));
  const auto line = linesOf(c, card, left);
  const QRectF title = line(9, 30, matrix.left() - c.s(8));
  const QString name = QString("rank %1").arg(rank.rank.value()), owned = ownedText(rank);
  sayWithin(c, title, name, c.theme.text, title_size, QFont::DemiBold);
  const double named = c.p.fontMetrics().horizontalAdvance(name) + 8;
  if (named + QFontMetricsF(textFont(letters)).horizontalAdvance(owned) <= title.width())
    sayWithin(c, title.adjusted(named, 0, 0, 0), owned, c.theme.dim, letters);
  const QRectF held = line(46, 34, matrix.left() - c.s(8));
  drawHeld(c, rank, QRectF(held.topLeft(), QSizeF(c.s(80), held.height())), held.right(), letters);
  const double right = card.right() - c.s(8);
  sayWithin(c, line(86, 27, right), attendingText(rank), c.theme.text, letters);
  const auto [words, color] = activity(c, rank);
  sayWithin(c, line(113, 27, right), words, color, letters, QFont::Medium);
  drawMatrix(c, matrix, rank);
}

void drawFullCard(const RingCanvas& c, const QRectF& card, const RankScene& rank) {
  drawCardGround(c, card, rank.rank);
  const double left = card.left() + c.s(20);
  const QRectF matrix(card.right() - c.s(120), card.top() + c.s(14), c.s(104), c.s(104));
  const auto line = linesOf(c, card, left);
  const double beside = matrix.left() - c.s(6);
  const int small = c.font(12);
  sayWithin(c, line(12, 22, beside), QString("rank %1").arg(rank.rank.value()), c.theme.text,
            c.font(16), QFont::DemiBold);
  sayWithin(c, line(34, 18, beside), ownedText(rank), c.theme.dim, small);
  drawHeld(c, rank, QRectF(left, card.top() + c.s(59), c.s(76), c.s(28)), beside, small);
  sayWithin(c, line(97, 18, beside), attendingText(rank), c.theme.text, small);
  const auto [words, color] = activity(c, rank);
  sayWithin(c, line(121, 18, card.right() - c.s(10)), words, color, small, QFont::Medium);
  drawMatrix(c, matrix, rank);
}

}  // namespace

QRectF cardBounds(const RingCanvas& c, GroupRank seat) {
  return c.layout.card(seat).adjusted(-3, -3, 3, 3);
}

std::pair<QString, QColor> activity(const RingCanvas& c, const RankScene& rank) {
  const double phase = rankPhase(c.scene, rank, c.phase);
  for (const Waiting& wait : rank.waits) {
    if (phase < wait.begin || phase >= wait.end) continue;
    const QString whom = wait.peer.exists() ? QString(" for rank %1").arg(wait.peer.value()) : "";
    return {"waits" + whom + " · " + describeDuration(wait.ns).c_str(), c.theme.wait};
  }
  if (!rank.known) return {"", c.theme.dim};
  if (rank.queries == 0) return {"idle · " + text(rank.idle), c.theme.dim};
  if (rank.lseRises())
    return {QString("attending · lse %1 → %2")
                .arg(rank.lse_before.mean, 0, 'f', 2)
                .arg(rank.lse_after.mean, 0, 'f', 2),
            c.theme.right};
  if (rank.lse_after.known())
    return {QString("attending · lse %1").arg(rank.lse_after.mean, 0, 'f', 2), c.theme.right};
  return {QString("attending · %1").arg(describeDuration(rank.attend_ns).c_str()), c.theme.right};
}

void drawCard(const RingCanvas& c, GroupRank seat) {
  const RankScene& rank = c.scene.ranks[seat.index()];
  const QRectF card = c.layout.card(seat);
  if (c.compact()) return drawCompactCard(c, card, rank);
  c.small() ? drawSmallCard(c, card, rank) : drawFullCard(c, card, rank);
}

}  // namespace ringscope::viz
