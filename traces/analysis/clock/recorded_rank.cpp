// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/recorded_rank.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "traces/analysis/clock/stage_work.h"

namespace ringscope::traces {
namespace {

using Op = Program::Op;

bool isTransfer(const Event& event) {
  return event.kind == EventKind::kSend || event.kind == EventKind::kReceive;
}
/// Reports whether an event is no part of the training step.
bool isLeftOut(const Event& event) {
  return event.kind == EventKind::kPause || event.kind == EventKind::kVerify;
}

/// A stage, or the moment at which an exchange is posted, with the nodes inside it.
struct Node {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint32_t event = Program::kNone;
  std::uint32_t exchange = Program::kNone;  ///< that is posted
  std::vector<std::size_t> inside;
};

class Reader {
 public:
  Reader(const std::vector<Event>& events, bool gaps_count, bool recompute)
      : events_(events), gaps_count_(gaps_count), recompute_(recompute) {}

  RecordedRank read() {
    for (std::uint32_t e = 0; e < events_.size(); ++e) {
      const Event& event = events_[e];
      result_.rank.events.push_back(
          {event.place, event.bytes, event.source_rank, event.peer, event.kind, event.payload});
      if (!isTransfer(event))
        nodes_.push_back({event.begin_ns, event.end_ns, e, Program::kNone, {}});
    }
    addExchanges();
    nest();
    addOps();
    return std::move(result_);
  }

 private:
  using ExchangeKey = std::pair<GroupId::Value, std::uint32_t>;

  /// Posts each exchange with its first message.
  void addExchanges() {
    std::map<ExchangeKey, std::vector<std::uint32_t>> by_number;
    for (std::uint32_t e = 0; e < events_.size(); ++e)
      if (isTransfer(events_[e]) && events_[e].exchange > 0)
        by_number[{events_[e].group.value(), events_[e].exchange}].push_back(e);
    for (const auto& [number, transfers] : by_number) {
      const auto index = static_cast<std::uint32_t>(result_.rank.exchanges.size());
      const auto first = static_cast<std::uint32_t>(result_.transfers.size());
      std::int64_t posted_ns = events_[transfers.front()].begin_ns;
      for (const std::uint32_t e : transfers) {
        posted_ns = std::min(posted_ns, events_[e].begin_ns);
        result_.transfers.push_back({e, index});
      }
      result_.rank.exchanges.push_back({first, static_cast<std::uint32_t>(transfers.size())});
      exchange_index_[number] = index;
      nodes_.push_back({posted_ns, posted_ns, Program::kNone, index, {}});
    }
  }

  /// Puts each node inside the latest stage that has begun and not ended.
  void nest() {
    std::sort(nodes_.begin(), nodes_.end(), [](const Node& a, const Node& b) {
      return std::tuple(a.begin_ns, -a.end_ns, a.event) <
             std::tuple(b.begin_ns, -b.end_ns, b.event);
    });
    std::vector<std::size_t> open;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      while (!open.empty() && nodes_[open.back()].end_ns <= nodes_[n].begin_ns) open.pop_back();
      if (!open.empty()) nodes_[n].end_ns = std::min(nodes_[n].end_ns, nodes_[open.back()].end_ns);
      (open.empty() ? top_ : nodes_[open.back()].inside).push_back(n);
      if (nodes_[n].event != Program::kNone) open.push_back(n);
    }
  }

  void addOps() {
    std::int64_t until = top_.empty() ? 0 : nodes_[top_.front()].begin_ns;
    for (const std::size_t n : top_) {
      const std::int64_t gap = std::max<std::int64_t>(0, nodes_[n].begin_ns - until);
      result_.outside_ns += gap;
      if (gaps_count_ && gap > 0) addOp(Op::Kind::kWork, Program::kNone, Program::kNone, gap);
      addNode(nodes_[n]);
      until = std::max(until, nodes_[n].end_ns);
    }
  }

  void addOp(Op::Kind kind, std::uint32_t event, std::uint32_t subject, std::int64_t work_ns,
             double kernels = 0) {
    result_.rank.ops.push_back({work_ns, subject, event, kind, static_cast<float>(kernels)});
  }

  void addNode(const Node& node) {
    if (node.event == Program::kNone) {
      addOp(Op::Kind::kPost, Program::kNone, node.exchange, 0);
      return;
    }
    const Event& event = events_[node.event];
    if (isLeftOut(event)) return;
    if (event.kind == EventKind::kWait) {
      addWait(node.event);
    } else if (event.kind == EventKind::kCollective) {
      const auto index = static_cast<std::uint32_t>(result_.collectives.size());
      addOp(Op::Kind::kCollective, node.event, index, 0);
      result_.collectives.push_back(node.event);
    } else {
      addStage(node);
    }
  }

  void addWait(std::uint32_t e) {
    const auto found = exchange_index_.find({events_[e].group.value(), events_[e].exchange});
    if (found == exchange_index_.end()) {
      result_.lost_waits.push_back(e);
      return;
    }
    const bool first = waited_.insert(found->second).second;
    addOp(first ? Op::Kind::kWait : Op::Kind::kWork, e, first ? found->second : Program::kNone, 0);
  }

  /// Returns the part of a stage's time that belongs to an event inside it. A device's clock goes
  /// on while its rank waits.
  static std::int64_t innerTimeNs(const Event& stage, const Event& inside) {
    const bool by_device = stage.clock == Clock::kDevice && !isDeviceWork(inside.kind);
    return by_device ? inside.duration() : ownTimeNs(inside);
  }

  /// Cuts the stage's own time and kernels at the nodes inside it, in proportion to the recorded
  /// clock between them.
  void addStage(const Node& node) {
    const Event& stage = events_[node.event];
    std::int64_t own_ns = ownTimeNs(stage);
    std::vector<std::int64_t> gaps_ns;
    std::int64_t until = node.begin_ns, open_ns = 0;
    for (const std::size_t n : node.inside) {
      if (nodes_[n].event != Program::kNone) own_ns -= innerTimeNs(stage, events_[nodes_[n].event]);
      gaps_ns.push_back(std::max<std::int64_t>(0, nodes_[n].begin_ns - until));
      open_ns += gaps_ns.back();
      until = std::max(until, nodes_[n].end_ns);
    }
    own_ns = std::max<std::int64_t>(0, own_ns);
    open_ns += std::max<std::int64_t>(0, node.end_ns - until);
    const double kernels = stageKernels(stage.kind, stage.place.direction, recompute_);
    const auto add_part = [&](std::int64_t part_ns, double without_time) {
      const double share =
          own_ns == 0 ? without_time : static_cast<double>(part_ns) / static_cast<double>(own_ns);
      addOp(Op::Kind::kWork, node.event, Program::kNone, part_ns, kernels * share);
    };
    std::int64_t left_ns = own_ns;
    for (std::size_t i = 0; i < node.inside.size(); ++i) {
      const auto part_ns = static_cast<std::int64_t>(
          open_ns == 0 ? 0
                       : static_cast<double>(own_ns) * static_cast<double>(gaps_ns[i]) /
                             static_cast<double>(open_ns));
      add_part(part_ns, 0);
      left_ns -= part_ns;
      addNode(nodes_[node.inside[i]]);
    }
    add_part(left_ns, 1);
  }

  const std::vector<Event>& events_;
  const bool gaps_count_, recompute_;
  RecordedRank result_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> top_;
  std::map<ExchangeKey, std::uint32_t> exchange_index_;
  std::set<std::uint32_t> waited_;
};

}  // namespace

RecordedRank recordedRank(const std::vector<Event>& events, bool gaps_count, bool recompute) {
  return Reader(events, gaps_count, recompute).read();
}

}  // namespace ringscope::traces
