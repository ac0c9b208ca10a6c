// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/chain_painter.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace ringscope::viz {
namespace {

/// A line whose points come from left to right: of those in one pixel column it keeps the first,
/// the last, the highest and the lowest.
class ColumnLine {
 public:
  void add(const QPointF& point) {
    if (!open_ || std::floor(point.x()) != std::floor(first_.x())) {
      flush();
      open_ = true;
      first_ = last_ = high_ = low_ = point;
      return;
    }
    last_ = point;
    if (point.y() < high_.y()) high_ = point;
    if (point.y() > low_.y()) low_ = point;
  }
  /// Ends it; what comes next is another line.
  QPolygonF take() {
    flush();
    return std::exchange(line_, {});
  }

 private:
  void flush() {
    if (!open_) return;
    open_ = false;
    for (const QPointF& point : {first_, high_, low_, last_})
      if (line_.isEmpty() || line_.back() != point) line_ << point;
  }

  QPolygonF line_;
  QPointF first_, last_, high_, low_;
  bool open_ = false;
};

/// Upper edges of rows, without looking through all of them for each link.
class RowEdges {
 public:
  RowEdges(const ChartLayout& layout, const ChartScene& scene) {
    for (const ChartLayout::Row& row : layout.rows)
      edges_[key(scene.ranks[row.seat.index()], row.lane)] = row.box.top();
  }
  /// Nothing: the rank is not on show. A lane that is not is drawn on the rank's own.
  std::optional<double> of(WorldRank rank, LaneKind lane) const {
    auto found = edges_.find(key(rank, lane));
    if (found == edges_.end()) found = edges_.find(key(rank, LaneKind::kCompute));
    return found == edges_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  static std::uint64_t key(WorldRank rank, LaneKind lane) {
    return static_cast<std::uint64_t>(rank.index()) * kLaneKinds + static_cast<std::uint64_t>(lane);
  }
  std::unordered_map<std::uint64_t, double> edges_;
};

}  // namespace

std::vector<QPolygonF> chainLines(const ChartLayout& layout, const ChartScene& scene) {
  std::vector<QPolygonF> lines;
  if (!scene.chain) return lines;
  const auto& links = scene.chain->links;
  const WindowScale scale = layout.scale(scene.window);
  const RowEdges edges(layout, scene);
  ColumnLine line;
  const auto end = [&] {
    if (QPolygonF done = line.take(); done.size() > 1) lines.push_back(std::move(done));
  };
  const auto at = [&](std::int64_t ns) {
    return std::clamp(scale.x(static_cast<double>(ns)), layout.lanes.left() - 8,
                      layout.lanes.right() + 8);
  };
  auto link = std::ranges::lower_bound(links, scene.window.begin_ns, {}, [](const ChainLink& each) {
    return static_cast<double>(each.end_ns);
  });
  for (; link != links.end(); ++link) {
    if (static_cast<double>(link->begin_ns) > scene.window.end_ns) break;
    const std::optional<double> y = edges.of(link->rank, link->lane);
    if (!y) {
      end();
      continue;
    }
    line.add({at(link->begin_ns), *y});
    line.add({at(link->end_ns), *y});
  }
  end();
  return lines;
}

int paintChain(QPainter& painter, const ChartLayout& layout, const ChartScene& scene,
               const Theme& theme) {
  int points = 0;
  painter.setBrush(Qt::NoBrush);
  for (const QPolygonF& line : chainLines(layout, scene)) {
    // On its own ground, so that it is seen over bars of every colour.
    painter.setPen(QPen(theme.background, 5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.drawPolyline(line);
    painter.setPen(QPen(theme.wrong, 2.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.drawPolyline(line);
    points += static_cast<int>(line.size());
  }
  return points;
}

}  // namespace ringscope::viz
