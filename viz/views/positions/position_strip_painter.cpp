// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/positions/position_strip_painter.h"

#include <cmath>

#include "viz/kit/page.h"
#include "viz/style/elide.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

constexpr double kStripHead = 24, kStripMargin = 24;
constexpr double kStripLeastPitch = 15, kStripMostPitch = 22;  // of a line that can be read
constexpr std::size_t kMostColumns = 4;

/// First and last id, where both have room.
void drawEnds(QPainter& p, const QRectF& bar, const PositionRun& run) {
  const QString first = QString::number(run.first), last = QString::number(run.last);
  const double inset = bar.width() > 120 ? 7 : bar.width() > 60 ? 4 : 2;
  const QRectF inside = bar.adjusted(inset, 0, -inset, 0);
  auto fits = [&](int size) {
    p.setFont(monoFont(size, QFont::Bold));
    return p.fontMetrics().horizontalAdvance(first) + p.fontMetrics().horizontalAdvance(last) + 4 <=
           inside.width();
  };
  if (!fits(11) && !fits(9)) return;
  p.drawText(inside, Qt::AlignVCenter | Qt::AlignLeft, first);
  p.drawText(inside, Qt::AlignVCenter | Qt::AlignRight, last);
}

/// Over a bar that has just been drawn, in its ink.
void drawShould(QPainter& p, const QRectF& bar, const PositionRun& run) {
  p.setFont(partFont());
  p.drawText(bar, Qt::AlignCenter,
             QString("≠ should be %1 … %2")
                 .arg(run.expected_first)
                 .arg(run.expected_first + run.tokens - 1));
}

}  // namespace

void paintPositionRun(QPainter& p, const QRectF& bar, const PositionRun& run, WorldRank rank,
                      const Theme& theme) {
  p.setBrushOrigin(bar.topLeft());
  if (run.wrong) {
    p.setPen(QPen(theme.wrong, 1));
    p.setBrush(theme.raised);
    p.drawRoundedRect(bar, 3, 3);
    QColor hatch = theme.wrong;
    hatch.setAlpha(90);
    p.setPen(Qt::NoPen);
    p.setBrush(QBrush(hatch, Qt::BDiagPattern));
    p.drawRoundedRect(bar, 3, 3);
  } else {
    p.setPen(Qt::NoPen);
    p.setBrush(rankColor(rank));
    p.drawRoundedRect(bar, 3, 3);
  }
  const QColor ink = run.wrong                                            ? theme.wrong
                     : contrast(rankColor(rank), QColor("#0E1116")) > 4.5 ? QColor("#0E1116")
                                                                          : QColor("#FFFFFF");
  p.setPen(ink);
  if (bar.height() < 10) return;  // too thin for numbers; colour and hatching still tell
  drawEnds(p, bar, run);
}

void paintHeldRuns(QPainter& p, const QRectF& bar, const std::vector<HeldRun>& runs,
                   const Theme& theme) {
  constexpr double kLeast = 3;  // pixels of a run that is drawn by itself
  if (runs.empty()) return;
  const HeldRun& last = runs.back();
  const double scale = bar.width() / static_cast<double>(last.token + last.positions.tokens);
  double drawn = -1;
  bool drawn_wrong = false;
  for (const HeldRun& run : runs) {
    const double x = bar.left() + scale * static_cast<double>(run.token);
    const double w = scale * static_cast<double>(run.positions.tokens);
    if (w >= kLeast) {
      const double gap = w > 12 ? 3 : 1;
      paintPositionRun(p, QRectF(x, bar.top(), w - gap, bar.height()), run.positions, run.rank,
                       theme);
      continue;
    }
    const bool wrong = run.positions.wrong;
    if (std::floor(x) == drawn && (drawn_wrong || !wrong)) continue;
    drawn = std::floor(x);
    drawn_wrong = wrong;
    p.fillRect(QRectF(drawn, bar.top(), 1, bar.height()),
               wrong ? theme.wrong : rankColor(run.rank));
  }
}

StripRow positionStripRow(const QRectF& area, std::size_t rows, std::size_t row) {
  const double top = area.top() + kStripHead + 3,
               height = area.bottom() - kStripHead - 8 - area.top();
  std::size_t columns = 1, lines = std::max<std::size_t>(1, rows);
  auto pitch = [&] { return std::min(kStripMostPitch, height / static_cast<double>(lines)); };
  while (pitch() < kStripLeastPitch && columns < std::min(kMostColumns, rows)) {
    ++columns;
    lines = (rows + columns - 1) / columns;
  }
  const double gap = columns > 1 ? 16 : 0;
  const double width = (area.width() - 2 * kStripMargin + gap) / static_cast<double>(columns);
  const std::size_t column = row / lines;
  const double left = area.left() + kStripMargin + width * static_cast<double>(column);
  const double y = top + pitch() * static_cast<double>(row - column * lines);
  const double name = columns > 1 ? 52 : 60;
  return {{left, y, name - 4, pitch() - 3}, {left + name, y, width - gap - name, pitch() - 4}};
}

void paintPositionStrip(QPainter& p, const QRectF& area, const PositionStrip& strip,
                        const Theme& theme) {
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  p.fillRect(area, theme.background);
  p.setFont(partFont());
  p.setPen(theme.dim);
  const QRectF head(area.left() + kStripMargin, area.top() + 6, area.width() - 2 * kStripMargin,
                    18);
  const QString title = "POSITION IDS PER RANK";
  p.drawText(head, Qt::AlignVCenter | Qt::AlignLeft, title);
  const double titled = p.fontMetrics().horizontalAdvance(title);
  p.setFont(textFont(12, strip.wrong > 0 ? QFont::DemiBold : QFont::Normal));
  p.setPen(strip.wrong > 0                             ? theme.wrong
           : strip.complete() && strip.unknown.empty() ? theme.right
                                                       : theme.dim);
  const double room = head.width() - titled - 16;
  p.drawText(head, Qt::AlignVCenter | Qt::AlignRight,
             elided(p.fontMetrics(), text(strip.verdict()), room));
  if (area.height() < kStripHead + kStripLeastPitch) return p.restore();
  for (std::size_t i = 0; i < strip.rows.size(); ++i) {
    const PositionRow& row = strip.rows[i];
    const StripRow where = positionStripRow(area, strip.rows.size(), i);
    if (where.bar.height() >= 8) {
      write(p, where.name, QString("rank %1").arg(row.rank.value()),
            textFont(where.bar.height() < 12 ? 11 : 12), theme.dim,
            Qt::AlignVCenter | Qt::AlignLeft);
    }
    std::int64_t tokens = 0;
    for (const auto& run : row.runs) tokens += run.tokens;
    double x = where.bar.left();
    for (const auto& run : row.runs) {
      const double w =
          where.bar.width() * static_cast<double>(run.tokens) / static_cast<double>(tokens);
      const QRectF bar(x, where.bar.top(), w - 4, where.bar.height());
      paintPositionRun(p, bar, run, row.rank, theme);
      if (run.wrong && bar.width() > 190 && bar.height() >= 10) drawShould(p, bar, run);
      x += w;
    }
  }
  p.restore();
}

}  // namespace ringscope::viz
