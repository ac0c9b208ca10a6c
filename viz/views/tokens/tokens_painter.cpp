// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/tokens/tokens_painter.h"

#include <algorithm>
#include <cmath>

#include "viz/kit/page.h"
#include "viz/maths/round_ticks.h"
#include "viz/style/colormap.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

constexpr double kStripLeft = 76, kStripRight = 24, kStripTop = 100, kStripBottom = 40;
constexpr double kHeatHeight = 18, kOwnerHeight = 18, kLaneTitle = 20, kLaneGap = 10;

/// The boxes of the lanes, from the top.
struct TokenLanes {
  QRectF loss, heat, band, difference;

  explicit TokenLanes(const QRectF& area) {
    const double width = std::max(1.0, area.width() - kStripLeft - kStripRight);
    const double rest = area.height() - kStripTop - kStripBottom - kHeatHeight - kOwnerHeight -
                        3 * kLaneTitle - 3 * kLaneGap;
    const double chart = std::max(40.0, rest);
    const auto below = [&](double top, double height) {
      return QRectF(area.left() + kStripLeft, top, width, height);
    };
    loss = below(area.top() + kStripTop, chart * 0.58);
    heat = below(loss.bottom() + kLaneGap + kLaneTitle, kHeatHeight);
    band = below(heat.bottom() + kLaneGap, kOwnerHeight);
    difference = below(band.bottom() + kLaneGap + 2 * kLaneTitle, chart * 0.42);
  }
};

/// The values that the parts of the drawing share.
struct TokensCanvas {
  QPainter& p;
  QRectF area;
  const TokensScene& scene;
  const std::vector<TokenColumn>& columns;
  const Theme& theme;
  TokenLanes lanes = TokenLanes(area);

  double x(double token) const {
    return lanes.loss.left() + lanes.loss.width() * token / static_cast<double>(scene.length);
  }
  QRectF column(std::size_t i, const QRectF& lane) const {
    const double left = x(static_cast<double>(columns[i].first));
    const double right =
        i + 1 < columns.size() ? x(static_cast<double>(columns[i + 1].first)) : lane.right();
    const double gap = right - left > 4 ? 1 : 0;
    return {left, lane.top(), right - left - gap, lane.height()};
  }
  QColor rank(const TokenColumn& column) const {
    return column.rank.exists() ? rankColor(column.rank) : theme.dim;
  }
};

void writeLaneTitle(const TokensCanvas& c, const QRectF& lane, const QString& words) {
  write(c.p, QRectF(lane.left(), lane.top() - kLaneTitle, lane.width(), kLaneTitle - 2), words,
        partFont(), c.theme.dim);
}

void drawLaneTick(const TokensCanvas& c, const QRectF& lane, double y, const QString& words) {
  c.p.setPen(QPen(c.theme.line, 1));
  c.p.drawLine(QPointF(lane.left(), y), QPointF(lane.right(), y));
  write(c.p, QRectF(lane.left() - kStripLeft + 8, y - 8, kStripLeft - 16, 16), words, monoFont(11),
        c.theme.dim, Qt::AlignVCenter | Qt::AlignRight);
}

void drawHead(const TokensCanvas& c) {
  const TokensScene& s = c.scene;
  const QString of_batch = s.sequences > 1
                               ? QString(" · sequence %1 of %2").arg(s.sequence).arg(s.sequences)
                               : QString();
  paintTitle(c.p, titleLine(c.area).adjusted(0, 0, -230, 0),
             QString("step %1%2 · loss of %3 targets")
                 .arg(s.train_step)
                 .arg(of_batch)
                 .arg(static_cast<qint64>(s.points.size())),
             c.theme.text);
  paintLead(c.p, c.area, text(describe(s)), c.theme);
}

/// Bars up to the mean of a column, with a line at its largest loss.
void drawLosses(const TokensCanvas& c) {
  const QRectF& lane = c.lanes.loss;
  double most = 0;
  for (const TokenColumn& column : c.columns)
    if (std::isfinite(column.largest)) most = std::max(most, column.largest);
  if (!(most > 0)) most = 1;
  writeLaneTitle(c, lane,
                 c.columns.size() < static_cast<std::size_t>(c.scene.length)
                     ? "LOSS (a bar is the mean of its tokens, the line above it the largest)"
                     : "LOSS");
  const auto y = [&](double loss) {
    return lane.bottom() - lane.height() * std::clamp(loss / most, 0.0, 1.0);
  };
  for (const double value : roundTicks(0, most, 4))
    drawLaneTick(c, lane, y(value), QString::number(value));
  c.p.setRenderHint(QPainter::Antialiasing, false);
  for (std::size_t i = 0; i < c.columns.size(); ++i) {
    const TokenColumn& column = c.columns[i];
    if (column.points == 0) continue;
    QRectF bar = c.column(i, lane);
    const double largest = std::isfinite(column.largest) ? y(column.largest) : lane.top();
    bar.setTop(std::isfinite(column.mean) ? y(column.mean) : lane.top());
    c.p.fillRect(bar, std::isfinite(column.mean) ? c.rank(column) : c.theme.wrong);
    c.p.fillRect(QRectF(bar.left(), largest, bar.width(), 1), c.theme.text);
  }
  c.p.setRenderHint(QPainter::Antialiasing, true);
}

void drawLogProbabilities(const TokensCanvas& c) {
  const QRectF& lane = c.lanes.heat;
  double least = -1e-9;
  for (const TokenColumn& column : c.columns)
    if (column.points > 0 && std::isfinite(column.log_probability))
      least = std::min(least, column.log_probability);
  writeLaneTitle(
      c, lane,
      QString("LOG PROBABILITY OF THE LABEL, FROM %1 (DARK) TO 0 (BRIGHT)").arg(least, 0, 'f', 1));
  c.p.setRenderHint(QPainter::Antialiasing, false);
  c.p.fillRect(lane, c.theme.raised);
  for (std::size_t i = 0; i < c.columns.size(); ++i) {
    if (c.columns[i].points == 0) continue;
    const double share = 1 - c.columns[i].log_probability / least;
    c.p.fillRect(c.column(i, lane), std::isfinite(share)
                                        ? magnitudeColor(std::clamp(share, 0.0, 1.0))
                                        : c.theme.wrong);
  }
  c.p.setRenderHint(QPainter::Antialiasing, true);
}

/// Draws the owner of every chunk. Chunks that are thinner than a pixel share one.
void drawOwners(const TokensCanvas& c) {
  double drawn = -1;
  for (const OwnedTokens& owned : c.scene.owners) {
    const double left = c.x(static_cast<double>(owned.begin));
    const double right = c.x(static_cast<double>(owned.end));
    if (right < drawn + 1) continue;
    drawn = right;
    paintFace(c.p, QRectF(left, c.lanes.band.top(), std::max(1.0, right - left), kOwnerHeight),
              owned.rank,
              right - left > 56 ? QString("rank %1").arg(owned.rank.value()) : QString(), c.theme);
  }
  write(c.p, QRectF(c.area.left() + 8, c.lanes.band.top(), kStripLeft - 16, kOwnerHeight), "owner",
        monoFont(11), c.theme.dim, Qt::AlignVCenter | Qt::AlignRight);
}

void drawDifferences(const TokensCanvas& c) {
  const QRectF& lane = c.lanes.difference;
  const std::string& name = c.scene.other_name;
  writeLaneTitle(c, lane,
                 name.empty() ? "DIFFERENCE"
                              : "DIFFERENCE IN LOSS AGAINST " + text(name).toUpper() +
                                    " (ABOVE THE LINE: WORSE HERE)");
  if (name.empty() || !c.scene.other_note.empty()) {
    c.p.fillRect(lane, c.theme.panel);
    return write(c.p, lane.adjusted(12, 4, -12, -4),
                 name.empty() ? QString("Open a second recording in Compare, or choose another "
                                        "group of ranks above, to see where losses differ.")
                              : text(c.scene.other_note),
                 textFont(13), c.theme.dim, Qt::AlignCenter | Qt::TextWordWrap);
  }
  double most = 0;
  for (const TokenColumn& column : c.columns)
    if (std::isfinite(column.difference)) most = std::max(most, std::abs(column.difference));
  const double scale = most > 0 ? most : 1;
  const double zero = lane.center().y();
  const auto y = [&](double value) { return zero - lane.height() / 2 * value / scale; };
  drawLaneTick(c, lane, zero, "0");
  if (most > 0)
    for (const double sign : {1.0, -1.0})
      drawLaneTick(c, lane, y(sign * most), QString::number(sign * most, 'g', 2));
  c.p.setRenderHint(QPainter::Antialiasing, false);
  for (std::size_t i = 0; i < c.columns.size(); ++i) {
    const double value = c.columns[i].difference;
    if (value == 0) continue;
    QRectF bar = c.column(i, lane);
    const bool finite = std::isfinite(value);
    bar.setTop(finite ? std::min(zero, y(value)) : lane.top());
    bar.setBottom(finite ? std::max(zero, y(value)) : lane.bottom());
    c.p.fillRect(bar, finite ? signedColor(value > 0 ? 0.75 : -0.75) : c.theme.wrong);
  }
  c.p.setRenderHint(QPainter::Antialiasing, true);
}

QPen borderPen(const TokenBorder& border, const Theme& theme) {
  if (border.document) return {theme.text, 1.2, Qt::DashLine};
  return border.shard ? QPen(theme.dim, 1.2) : QPen(theme.dim, 1, Qt::DotLine);
}

/// Draws borders through the lanes, not through their titles, and with a gap between two of them. A
/// document's border goes over others.
void drawBorders(const TokensCanvas& c) {
  std::vector<QRectF> lanes = {c.lanes.loss, c.lanes.heat, c.lanes.band};
  if (c.scene.worst_difference >= 0) lanes.push_back(c.lanes.difference);
  constexpr double kLeastGap = 3;
  for (const bool documents : {false, true}) {
    double drawn = -kLeastGap;
    for (const TokenBorder& border : c.scene.borders) {
      const double x = c.x(static_cast<double>(border.before));
      if (border.document != documents || x - drawn < kLeastGap) continue;
      drawn = x;
      c.p.setPen(borderPen(border, c.theme));
      for (const QRectF& lane : lanes)
        c.p.drawLine(QPointF(x, lane.top()), QPointF(x, lane.bottom()));
    }
  }
  const QRectF legend(c.lanes.loss.left(), c.lanes.difference.bottom() + 20, c.lanes.loss.width(),
                      18);
  write(c.p, legend, "solid line: another rank's shard · dotted: chunk · dashed: document",
        textFont(11), c.theme.dim);
}

void drawTokenAxis(const TokensCanvas& c) {
  const auto last = static_cast<double>(c.scene.length);
  for (const double token : roundTicks(0, last, std::max(2, static_cast<int>(c.area.width() / 90))))
    write(c.p, QRectF(c.x(token) - 40, c.lanes.difference.bottom() + 3, 80, 16),
          QString::number(static_cast<qint64>(token)), monoFont(11), c.theme.dim, Qt::AlignCenter);
}

void drawSelected(const TokensCanvas& c) {
  if (c.scene.selected.isNone() || c.scene.selected.value() >= c.scene.length) return;
  const auto token = static_cast<double>(c.scene.selected.value());
  const double left = c.x(token), right = std::max(c.x(token + 1), left + 3);
  c.p.setPen(QPen(c.theme.accent, 2));
  c.p.setBrush(Qt::NoBrush);
  c.p.drawRect(
      QRectF(QPointF(left, c.lanes.loss.top()), QPointF(right, c.lanes.difference.bottom())));
}

}  // namespace

std::int64_t tokenColumns(const QRectF& area) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(TokenLanes(area).loss.width()));
}

void paintTokens(QPainter& painter, const QRectF& area, const TokensScene& scene,
                 const std::vector<TokenColumn>& columns, const Theme& theme) {
  painter.fillRect(area, theme.background);
  if (!scene.note.empty()) return paintNote(painter, area, scene.note, theme);
  const TokensCanvas canvas{painter, area, scene, columns, theme};
  drawHead(canvas);
  drawLosses(canvas);
  drawLogProbabilities(canvas);
  drawOwners(canvas);
  drawDifferences(canvas);
  drawBorders(canvas);
  drawTokenAxis(canvas);
  drawSelected(canvas);
}

std::optional<std::size_t> tokensHit(const QPointF& position, const QRectF& area,
                                     const std::vector<TokenColumn>& columns) {
  const TokenLanes lanes(area);
  const QRectF all(lanes.loss.topLeft(), lanes.difference.bottomRight());
  if (columns.empty() || !all.contains(position)) return std::nullopt;
  const double share = (position.x() - all.left()) / all.width();
  const auto at = std::min(columns.size() - 1,
                           static_cast<std::size_t>(share * static_cast<double>(columns.size())));
  if (columns[at].point < 0) return std::nullopt;
  return static_cast<std::size_t>(columns[at].point);
}

}  // namespace ringscope::viz
