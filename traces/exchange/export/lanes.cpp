// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/export/lanes.h"

#include <algorithm>
#include <map>

namespace ringscope::traces {
namespace {

bool isTransfer(const Event& event) {
  return event.kind == EventKind::kSend || event.kind == EventKind::kReceive ||
         event.kind == EventKind::kCollective;
}

/// Returns the name of the lanes that an event may share with others.
std::string familyOf(const Event& event) {
  if (isTransfer(event)) return name(event.kind);
  return event.queue == 0 ? "work" : "queue " + std::to_string(event.queue);
}

/// An assignment of events to lanes. It keeps the events that are still open on each lane,
/// outermost first.
class Dealer {
 public:
  Dealer() { laneIn("work"); }

  std::size_t laneOf(const Event& event) {
    auto& lanes = families_[familyOf(event)];
    for (const std::size_t lane : lanes) {
      auto& open = open_[lane];
      while (!open.empty() && open.back() <= event.begin_ns) open.pop_back();
      if (!open.empty() && (isTransfer(event) || open.back() < event.end_ns)) continue;
      open.push_back(event.end_ns);
      return lane;
    }
    const std::size_t lane = laneIn(familyOf(event));
    open_[lane].push_back(event.end_ns);
    return lane;
  }
  std::vector<std::string> takeNames() { return std::move(names_); }

 private:
  std::size_t laneIn(const std::string& family) {
    auto& lanes = families_[family];
    lanes.push_back(names_.size());
    names_.push_back(lanes.size() == 1 ? family : family + " " + std::to_string(lanes.size()));
    open_.emplace_back();
    return lanes.back();
  }
  std::map<std::string, std::vector<std::size_t>> families_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::int64_t>> open_;
};

}  // namespace

RankLanes makeLanes(const Trace& trace, WorldRank rank) {
  RankLanes lanes;
  for (const Event& event : trace.events(rank)) lanes.events.push_back({event, 0});
  std::ranges::stable_sort(lanes.events, [](const LaneEvent& a, const LaneEvent& b) {
    return a.event.begin_ns != b.event.begin_ns ? a.event.begin_ns < b.event.begin_ns
                                                : a.event.end_ns > b.event.end_ns;
  });
  Dealer dealer;
  for (LaneEvent& one : lanes.events) one.lane = dealer.laneOf(one.event);
  lanes.names = dealer.takeNames();
  return lanes;
}

std::int64_t shiftToZero(const Trace& trace) {
  std::int64_t first = 0;
  for (int value = 0; value < trace.worldSize(); ++value) {
    const WorldRank rank = WorldRank::of(value);
    for (const Event& event : trace.events(rank)) first = std::min(first, event.begin_ns);
    for (const MemorySample& sample : trace.memory(rank)) first = std::min(first, sample.time_ns);
  }
  return -first;
}

std::string titleFor(const Event& event) {
  const std::string kind = name(event.kind);
  return event.payload == Payload::kNone ? kind : kind + " " + name(event.payload);
}

}  // namespace ringscope::traces
