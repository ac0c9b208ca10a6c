// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/ring/ring_layout.h"

#include <map>
#include <tuple>
#include <vector>

namespace ringscope::viz {
namespace {

bool isClear(const RingLane& lane, const QSizeF& packet, const std::vector<QRectF>& cards) {
  constexpr int kPlacesARank = 24;
  constexpr double kBetween = 3;  // what it may come nearer between two of the places
  const auto places = static_cast<int>(cards.size()) * kPlacesARank;
  for (int i = 0; i < places; ++i) {
    const QPointF at = lane.point(2 * std::numbers::pi * i / places - std::numbers::pi / 2);
    const QSizeF size = packet + QSizeF(2 * kBetween, 2 * kBetween);
    const QRectF box(at - QPointF(size.width() / 2, size.height() / 2), size);
    for (const QRectF& card : cards)
      if (card.intersects(box)) return false;
  }
  return true;
}

}  // namespace

RingLane RingLayout::findLane(const QSizeF& packet) const {
  const double gap = 4 * scale_ + 4;  // a card is not drawn again for what passes it
  const QPointF step((cardSize().width() + packet.width()) / 2 + gap,
                     (cardSize().height() + packet.height()) / 2 + gap);
  std::vector<QRectF> cards;
  cards.reserve(static_cast<std::size_t>(ranks_));
  for (int seat = 0; seat < ranks_; ++seat) cards.push_back(card(traces::GroupRank::of(seat)));
  RingLane best{center(), {}};
  double most = 0;
  for (const double exponent : {2.0, 2.8, 4.0, 8.0})
    for (double across = 1; across < 1.6; across += 0.1)
      for (double down = 1; down < 1.6; down += 0.1) {
        const RingLane lane{center(), radius() - QPointF(across * step.x(), down * step.y()),
                            exponent};
        if (lane.radius.x() <= 0 || lane.radius.y() <= 0) continue;
        const QRectF inside = lane.inside(packet);
        const double room = inside.width() * inside.height();
        if (room <= most || !isClear(lane, packet, cards)) continue;
        most = room;
        best = lane;
      }
  return best;
}

RingLane RingLayout::lane(const QSizeF& packet, const QSizeF& inward) const {
  // Every frame asks for the same few.
  using Key = std::tuple<double, double, int, double, double>;
  thread_local std::map<Key, RingLane> known;
  constexpr std::size_t kMost = 100;
  if (known.size() > kMost) known.clear();
  const Key key{area_.width(), area_.height(), ranks_, packet.width(), packet.height()};
  auto found = known.find(key);
  if (found == known.end()) found = known.emplace(key, findLane(packet)).first;
  RingLane lane = found->second;
  lane.center = center();
  lane.radius = {std::max(0.0, lane.radius.x() - inward.width()),
                 std::max(0.0, lane.radius.y() - inward.height())};
  return lane;
}

}  // namespace ringscope::viz
