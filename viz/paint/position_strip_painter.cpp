// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/paint/position_strip_painter.h"

#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

void drawRun(QPainter& p, const QRectF& bar, const PositionRun& run, WorldRank rank,
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
  p.setFont(monoFont(11, QFont::Bold));
  if (bar.height() < 10) return;  // too thin for numbers; colour and hatching still tell
  const QRectF inside = bar.adjusted(7, 0, -7, 0);
  p.drawText(inside, Qt::AlignVCenter | Qt::AlignLeft, QString::number(run.begin));
  p.drawText(inside, Qt::AlignVCenter | Qt::AlignRight, QString::number(run.end));
  if (run.wrong && bar.width() > 190) {
    p.setFont(textFont(11, QFont::DemiBold));
    p.drawText(inside, Qt::AlignCenter,
               QString("≠ should be %1 … %2")
                   .arg(run.should_begin)
                   .arg(run.should_begin + run.tokens - 1));
  }
}

}  // namespace

void paintPositionStrip(QPainter& p, const QRectF& area, const PositionStrip& strip,
                        const Theme& theme) {
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  p.fillRect(area, theme.background);
  p.setFont(textFont(11, QFont::DemiBold));
  p.setPen(theme.dim);
  const QRectF head(area.left() + 24, area.top() + 6, area.width() - 48, 18);
  p.drawText(head, Qt::AlignVCenter | Qt::AlignLeft, "POSITION IDS PER RANK");
  p.setFont(textFont(12, strip.wrong > 0 ? QFont::DemiBold : QFont::Normal));
  p.setPen(strip.wrong > 0                             ? theme.wrong
           : strip.complete() && strip.unknown.empty() ? theme.right
                                                       : theme.dim);
  p.drawText(head, Qt::AlignVCenter | Qt::AlignRight, QString::fromStdString(strip.verdict()));
  const double left = area.left() + 84, width = area.right() - 24 - left;
  const double pitch = strip.rows.empty()
                           ? 0
                           : std::min(22.0, (area.bottom() - head.bottom() - 8) /
                                                static_cast<double>(strip.rows.size()));
  double y = head.bottom() + 3;
  for (const PositionRow& row : strip.rows) {
    if (pitch >= 12) {
      p.setPen(theme.dim);
      p.setFont(textFont(12));
      p.drawText(QRectF(area.left() + 24, y, 56, pitch - 3), Qt::AlignVCenter | Qt::AlignLeft,
                 QString("rank %1").arg(row.rank.value()));
    }
    std::int64_t tokens = 0;
    for (const auto& run : row.runs) tokens += run.tokens;
    double x = left;
    for (const auto& run : row.runs) {
      const double w = width * static_cast<double>(run.tokens) / static_cast<double>(tokens);
      drawRun(p, QRectF(x, y, w - 4, pitch - 4), run, row.rank, theme);
      x += w;
    }
    y += pitch;
  }
  p.restore();
}

}  // namespace ringscope::viz
