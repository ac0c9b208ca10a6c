// SPDX-License-Identifier: Apache-2.0
// The critical path of what was recorded, where every rank had its own core.
#include <algorithm>
#include <unordered_map>

#include "traces/analysis/account/critical_chain.h"
#include "traces/analysis/clock/recorded_program.h"

namespace ringscope::traces {

using Kind = ChainLink::Kind;

namespace {

/// A reason for which a rank stood still: the exchange of a wait, or a collective.
struct Stop {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint32_t op = 0;  ///< of the rank's ops
};

/// Walks back from the last end.
class RecordedWalk {
 public:
  RecordedWalk(const RecordedProgram& recorded, const TimeFolds& folds)
      : recorded_(recorded), folds_(folds), stops_(recorded.events.size()) {
    for (std::size_t r = 0; r < stops_.size(); ++r) findStops(r);
  }

  CriticalChain run() {
    for (std::size_t r = 0; r < recorded_.events.size(); ++r)
      for (const Event& event : recorded_.events[r])
        if (isOwn(event) && event.end_ns > now_ns_) {
          now_ns_ = event.end_ns;
          rank_ = r;
        }
    while (step()) {
    }
    std::ranges::reverse(chain_.links);
    return std::move(chain_);
  }

 private:
  static bool isOwn(const Event& event) {
    return event.kind != EventKind::kSend && event.kind != EventKind::kReceive;
  }

  void findStops(std::size_t r) {
    const Program::Rank& rank = recorded_.program.ranks[r];
    for (std::uint32_t o = 0; o < rank.ops.size(); ++o) {
      const Program::Op& op = rank.ops[o];
      if (op.kind == Program::Op::Kind::kPost || op.kind == Program::Op::Kind::kWork) continue;
      const Event& event = recorded_.events[r][op.event];
      stops_[r].push_back({event.begin_ns, event.end_ns, o});
      if (op.kind == Program::Op::Kind::kCollective)
        members_[op.subject].emplace_back(r, event.begin_ns);
    }
    std::ranges::stable_sort(stops_[r], {}, &Stop::begin_ns);
  }

  /// Goes to the rank's last stop before now, and over it. False: there is none.
  bool step() {
    const auto& stops = stops_[rank_];
    const auto after = std::ranges::lower_bound(stops, now_ns_, {}, &Stop::begin_ns);
    if (after == stops.begin()) {
      std::int64_t first = now_ns_;
      for (const Event& event : recorded_.events[rank_])
        if (isOwn(event)) first = std::min(first, event.begin_ns);
      add(rank_, LaneKind::kCompute, first, Kind::kWork);
      return false;
    }
    const Stop& stop = *std::prev(after);
    const std::int64_t before_ns = now_ns_;
    const std::size_t rank = rank_;
    add(rank, LaneKind::kCompute, stop.end_ns, Kind::kWork);
    const Program::Op& op = recorded_.program.ranks[rank].ops[stop.op];
    op.kind == Program::Op::Kind::kCollective ? overCollective(stop, op) : overWait(stop, op);
    if (now_ns_ < before_ns) return true;
    // Recorded times that cannot be, such as an arrival before the posting: on along the rank.
    rank_ = rank;
    add(rank, LaneKind::kCompute, stop.begin_ns, Kind::kWork);
    return true;
  }

  /// From when its last member had posted it.
  void overCollective(const Stop& stop, const Program::Op& op) {
    const auto& members = members_[op.subject];
    const auto last = std::ranges::max_element(members, {}, [](const auto& m) { return m.second; });
    const std::size_t who = last->second > stop.begin_ns ? last->first : rank_;
    add(rank_, LaneKind::kCollective, std::max(stop.begin_ns, last->second), Kind::kMove);
    rank_ = who;
  }

  void overWait(const Stop& stop, const Program::Op& op) {
    const Program::Message* message = findLast(op.subject);
    const Event* sent =
        message ? &recorded_.events[message->from.index()][message->send_event] : nullptr;
    const std::int64_t arrived = sent ? endOf(*message) : stop.begin_ns;
    if (arrived <= stop.begin_ns) return add(rank_, LaneKind::kCompute, stop.begin_ns, Kind::kWork);
    const Event& received = recorded_.events[message->to.index()][message->receive_event];
    const std::int64_t posted = std::max(sent->begin_ns, received.begin_ns);
    add(rank_, LaneKind::kCompute, arrived, Kind::kWait);
    const LaneKind lane = eventLane(*sent);
    add(message->from.index(), lane, std::max(posted, sent->start_ns), Kind::kMove);
    add(message->from.index(), lane, posted, Kind::kWait);
    if (sent->begin_ns != received.begin_ns)
      rank_ = (sent->begin_ns > received.begin_ns ? message->from : message->to).index();
  }

  /// When this rank need not wait for it any more.
  std::int64_t endOf(const Program::Message& message) const {
    const bool sends = message.from.index() == rank_;
    return recorded_.events[rank_][sends ? message.send_event : message.receive_event].end_ns;
  }

  /// Returns the message of an exchange that ended last.
  const Program::Message* findLast(std::uint32_t exchange) const {
    const Program::Rank& rank = recorded_.program.ranks[rank_];
    const Program::Exchange& of = rank.exchanges[exchange];
    const Program::Message* last = nullptr;
    for (std::uint32_t i = of.first; i < of.first + of.count; ++i) {
      const Program::Message& message = recorded_.program.messages[rank.posted[i]];
      if (!last || endOf(message) > endOf(*last)) last = &message;
    }
    return last;
  }

  /// Back to a time, however the recorded ones lie.
  void add(std::size_t rank, LaneKind lane, std::int64_t begin_ns, Kind kind) {
    if (begin_ns >= now_ns_) return;
    const std::int64_t begin = folds_.folded(begin_ns), end = folds_.folded(now_ns_);
    if (end > begin) chain_.links.push_back({WorldRank::of(rank), lane, begin, end, kind});
    now_ns_ = begin_ns;
  }

  const RecordedProgram& recorded_;
  const TimeFolds& folds_;
  std::vector<std::vector<Stop>> stops_;  // by rank, ascending
  std::unordered_map<std::uint32_t, std::vector<std::pair<std::size_t, std::int64_t>>> members_;
  CriticalChain chain_;
  std::size_t rank_ = 0;
  std::int64_t now_ns_ = INT64_MIN;
};

}  // namespace

std::shared_ptr<const CriticalChain> recordedChain(const RecordedProgram& recorded,
                                                   const TimeFolds& folds) {
  if (!recorded.usable() || !recorded.own_cores) return nullptr;
  return std::make_shared<const CriticalChain>(RecordedWalk(recorded, folds).run());
}

}  // namespace ringscope::traces
