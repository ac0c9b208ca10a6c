// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/compare/place_table.h"

#include <algorithm>

#include "viz/kit/page.h"
#include "viz/style/elide.h"

namespace ringscope::viz {
namespace {

constexpr double kPlaceWide = 860;  // from here on there is room for what places took
constexpr double kPlaceBar = 84, kSize = 96, kPlaceGap = 12, kTime = 68, kBytes = 76;

/// The columns of a row, as distances from its left. Each ends where the next begins.
struct PlaceColumns {
  explicit PlaceColumns(double width)
      : costs(width >= kPlaceWide),
        name(costs ? 216 : std::min(190.0, width * 0.28)),
        bar(name),
        size(bar + kPlaceBar + kPlaceGap),
        where(size + kSize + kPlaceGap),
        end(width - kPlaceGap),
        took(costs ? end - 2 * (kTime + kBytes) : end) {}
  bool costs;
  double name, bar, size, where, end;
  double took;  ///< of a place: in the columns at the right
};

QRectF part(const QRectF& box, double from, double until) {
  return {box.left() + from, box.top(), std::max(0.0, until - from), box.height()};
}

void say(QPainter& p, const QRectF& box, const QString& words, int side = Qt::AlignLeft) {
  p.drawText(box, side | Qt::AlignVCenter, elided(p.fontMetrics(), words, box.width()));
}

const char* glyphOf(Agreement agreement) {
  switch (agreement) {
    case Agreement::kSame:
      return "= ";
    case Agreement::kRounding:
      return "";  // the size says it
    case Agreement::kUnknown:
      return "? ";
    default:
      return "≠ ";
  }
}

}  // namespace

QColor agreementColor(Agreement agreement, const Theme& theme) {
  switch (agreement) {
    case Agreement::kDiffers:
      return theme.wrong;
    case Agreement::kUnknown:
      return theme.text;
    default:
      return theme.right;
  }
}

std::size_t PlaceTable::rowAt(const QPointF& point) const {
  const QRectF rows = box_.adjusted(0, kHead, 0, 0);
  if (!rows.contains(point)) return rows_;
  return std::min(rows_, static_cast<std::size_t>((point.y() - rows.top()) / kRow));
}

void PlaceTable::paint(QPainter& p, const std::vector<PlaceRow>& places, const QRectF& seen,
                       std::size_t selected, const Theme& theme) const {
  paintHead(p, theme);
  const auto above =
      static_cast<std::size_t>(std::max(0.0, (seen.top() - box_.top() - kHead) / kRow));
  for (std::size_t i = above; i < places.size() && row(i).top() < seen.bottom(); ++i) {
    const QRectF box = row(i);
    if (i % 2 == 1) p.fillRect(box, theme.panel);
    paintRow(p, box, places[i], theme);
    if (i != selected && !places[i].first) continue;
    p.setBrush(Qt::NoBrush);
    p.setPen(QPen(i == selected ? theme.accent : agreementColor(places[i].agreement, theme), 1.5));
    p.drawRoundedRect(box.adjusted(1, 1, -1, -1), 4, 4);
  }
}

void PlaceTable::paintHead(QPainter& p, const Theme& theme) const {
  const QRectF box(box_.topLeft(), QSizeF(box_.width(), kHead));
  const PlaceColumns at(box.width());
  p.setPen(Qt::NoPen);
  p.setBrush(theme.raised);
  p.drawRoundedRect(box, 4, 4);
  p.setPen(theme.dim);
  p.setFont(partFont());
  say(p, part(box, kPlaceGap, at.name), "place");
  if (at.costs) {
    double x = at.took;
    for (const auto& [words, width] :
         {std::pair("attends A", kTime), {"B", kTime}, {"sends A", kBytes}, {"B", kBytes}}) {
      say(p, part(box, x, x + width), words, Qt::AlignRight);
      x += width;
    }
  }
  say(p, part(box, at.bar, at.where - kPlaceGap), "largest difference, of its size");
  say(p, part(box, at.where, at.took - kPlaceGap), "where");
}

void PlaceTable::paintRow(QPainter& p, const QRectF& box, const PlaceRow& place,
                          const Theme& theme) const {
  const PlaceColumns at(box.width());
  const bool inner = !place.heads && !place.alone;
  p.setPen(inner ? theme.dim : theme.text);
  p.setFont(textFont(12, place.heads ? QFont::DemiBold : QFont::Normal));
  if (place.heads) say(p, part(box, kPlaceGap, kOpener), place.open ? "▾" : "▸");
  say(p, part(box, kOpener + (inner ? 14 : 0), at.name), place.name.c_str());
  p.setFont(monoFont(11));
  if (at.costs && !place.attends.empty()) {
    p.setPen(theme.dim);
    double x = at.took;
    for (const auto& [words, width] : {std::pair(&place.attends, kTime),
                                       {&place.other_attends, kTime},
                                       {&place.sent, kBytes},
                                       {&place.other_sent, kBytes}}) {
      say(p, part(box, x, x + width), words->c_str(), Qt::AlignRight);
      x += width;
    }
  }
  const QRectF track(box.left() + at.bar, box.center().y() - 4, kPlaceBar, 8);
  const QColor color = agreementColor(place.agreement, theme);
  paintBar(p, track, place.bar, place.agreement == Agreement::kUnknown ? theme.dim : color, theme);
  p.setPen(color);
  say(p, part(box, at.size, at.where - kPlaceGap),
      QString(glyphOf(place.agreement)) + place.size.c_str());
  p.setPen(theme.dim);
  p.setFont(textFont(12));
  QString where = place.first ? "▲ first" : place.steepest ? "▲ steepest" : "";
  if (!where.isEmpty() && !place.where.empty()) where += " · ";
  const double end = at.costs && !place.attends.empty() ? at.took - kPlaceGap : at.end;
  say(p, part(box, at.where, end), where + place.where.c_str());
}

}  // namespace ringscope::viz
