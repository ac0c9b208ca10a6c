// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/chart_layout.h"

#include <algorithm>

namespace ringscope::viz {
namespace {

constexpr double kRuler = 24, kChartLabels = 96, kChartRight = 20, kBetweenRanks = 8,
                 kLeastRank = 20, kMostRank = 184, kCaption = 20;

double pitchOf(const QRectF& area, std::size_t ranks) {
  const double room =
      (area.height() - kRuler) / static_cast<double>(std::max<std::size_t>(1, ranks));
  return std::clamp(room, kLeastRank, kMostRank);
}

/// The lanes of one rank in its box: its own thread takes as much as the messages together.
void addRows(ChartLayout& layout, GroupRank seat, const QRectF& box,
             const std::vector<LaneKind>& lanes, bool caption) {
  const auto messages = static_cast<double>(lanes.size() - 1);
  const double inner = box.height() - (caption ? kCaption : 0);
  const double gap = inner >= 60 ? 5 : inner >= 34 ? 2 : 1;
  const double message =
      messages == 0 ? 0 : std::clamp((inner - messages * gap) * 0.5 / messages, 2.0, 22.0);
  const double compute = std::clamp(inner - messages * (message + gap) - gap, 4.0, 48.0);
  double y = box.top() + gap / 2;
  for (const LaneKind lane : lanes) {
    const double height = lane == LaneKind::kCompute ? compute : message;
    layout.rows.push_back({seat, lane, {box.left(), y, box.width(), height}});
    y += height + gap;
  }
  layout.captions.push_back(caption ? QRectF(box.left(), y, box.width(), kCaption - 4) : QRectF());
}

}  // namespace

const ChartLayout::Row* ChartLayout::rowAt(const QPointF& point) const {
  if (!lanes.contains(point)) return nullptr;
  for (const Row& row : rows)
    if (row.box.adjusted(0, -2, 0, 2).contains(point)) return &row;
  return nullptr;
}

const ChartLayout::Row* ChartLayout::row(GroupRank seat, LaneKind lane) const {
  for (const Row& row : rows)
    if (row.seat == seat && row.lane == lane) return &row;
  return nullptr;
}

double mostScroll(const QRectF& area, const ChartScene& scene) {
  const double pitch = pitchOf(area, scene.ranks.size());
  return std::max(0.0, pitch * static_cast<double>(scene.ranks.size()) - area.height() + kRuler);
}

ChartLayout chartLayout(const QRectF& area, const ChartScene& scene, double scroll) {
  ChartLayout layout;
  layout.area = area;
  layout.labels = kChartLabels;
  layout.ruler = QRectF(area.left() + kChartLabels, area.top(),
                        area.width() - kChartLabels - kChartRight, kRuler);
  layout.lanes = layout.ruler.translated(0, kRuler);
  layout.lanes.setHeight(std::max(0.0, area.height() - kRuler));
  const double pitch = pitchOf(area, scene.ranks.size());
  const bool roomy = pitch >= 84 && !scene.captions.empty();
  const double between = pitch >= 48 ? kBetweenRanks : 2;
  for (std::size_t seat = 0; seat < scene.ranks.size(); ++seat) {
    const QRectF box(layout.lanes.left(),
                     layout.lanes.top() + static_cast<double>(seat) * pitch - scroll,
                     layout.lanes.width(), pitch - between);
    layout.ranks.push_back(box);
    addRows(layout, GroupRank::of(seat), box, scene.lanes, roomy);
  }
  layout.lanes.setHeight(
      std::min(layout.lanes.height(), static_cast<double>(scene.ranks.size()) * pitch - scroll));
  return layout;
}

}  // namespace ringscope::viz
