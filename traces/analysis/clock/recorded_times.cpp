// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/recorded_times.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "traces/analysis/clock/link_time.h"

namespace ringscope::traces {
namespace {

using Op = Program::Op;

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

/// Of one recorded training step.
class StepReader {
 public:
  explicit StepReader(const RecordedProgram& step)
      : step_(step), least_(step.program.collectives.size(), kNever) {
    for (std::size_t r = 0; r < step.program.ranks.size(); ++r)
      for (const Op& op : step.program.ranks[r].ops)
        if (op.kind == Op::Kind::kCollective)
          least_[op.subject] = std::min(least_[op.subject], event(r, op).duration());
  }

  /// A collective takes as long as it did for the member that came last.
  RecordedTimes read(std::size_t rank) const {
    RecordedTimes times;
    const auto& ops = step_.program.ranks[rank].ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Op& op = ops[i];
      if (op.kind == Op::Kind::kWork && op.event == Program::kNone)
        times.between += seconds(op.work_ns);
      else if (op.kind == Op::Kind::kWork)
        times.stages[stageOf(rank, op)] += seconds(op.work_ns);
      else if (op.kind == Op::Kind::kWait)
        addHop(times.hops, rank, op);
      else if (op.kind == Op::Kind::kCollective)
        addCollective(times, rank, i);
    }
    return times;
  }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  const Event& event(std::size_t rank, const Op& op) const { return step_.events[rank][op.event]; }
  RecordedTimes::Stage stageOf(std::size_t rank, const Op& op) const {
    return {event(rank, op).kind, event(rank, op).place.direction};
  }

  void addCollective(RecordedTimes& times, std::size_t rank, std::size_t at) const {
    const auto& ops = step_.program.ranks[rank].ops;
    const Payload payload = event(rank, ops[at]).payload;
    const double took = seconds(least_[ops[at].subject]);
    if (payload == Payload::kActivations) return addActivations(times, rank, ops[at], took);
    const auto holds = [&](std::size_t i) {
      return i < ops.size() && ops[i].kind == Op::Kind::kWork && ops[i].event != Program::kNone;
    };
    if (payload == Payload::kGrads)
      times.sync += took;
    else if (at > 0 && holds(at - 1) && holds(at + 1) && ops[at - 1].event == ops[at + 1].event)
      times.stages[stageOf(rank, ops[at - 1])] += took;
    else
      times.between += took;
  }

  void addActivations(RecordedTimes& times, std::size_t rank, const Op& op, double took) const {
    const std::int32_t ranks = step_.program.collectives[op.subject].ranks;
    const auto bytes = static_cast<double>(event(rank, op).bytes);
    const double around = 2.0 * (ranks - 1), there_and_back = 2.0 * treeDepth(ranks);
    AllReduces& all = times.activations;
    all.ring.calls += around;
    all.ring.bytes += around / ranks * bytes;
    all.tree.calls += there_and_back;
    all.tree.bytes += there_and_back * bytes;
    all.seconds += took;
  }

  /// From when all had posted and the rank waited.
  void addHop(StageSample& hops, std::size_t rank, const Op& op) const {
    const Program::Rank& of_rank = step_.program.ranks[rank];
    const Program::Exchange& exchange = of_rank.exchanges[op.subject];
    std::int64_t begin = event(rank, op).begin_ns, sent = 0, received = 0;
    for (std::uint32_t i = 0; i < exchange.count; ++i) {
      const Program::Message& message = step_.program.messages[of_rank.posted[exchange.first + i]];
      (message.from.index() == rank ? sent : received) += message.bytes;
      begin = std::max({begin, postedAt(message.from, message.send_event),
                        postedAt(message.to, message.receive_event)});
    }
    ++hops.calls;
    hops.bytes += static_cast<double>(std::max(sent, received));
    hops.seconds += seconds(std::max<std::int64_t>(0, event(rank, op).end_ns - begin));
  }
  std::int64_t postedAt(WorldRank rank, std::uint32_t event) const {
    return event == Program::kNone ? 0 : step_.events[rank.index()][event].begin_ns;
  }

  const RecordedProgram& step_;
  std::vector<std::int64_t> least_;  ///< by collective
};

}  // namespace

RecordedTimes recordedTimes(const RecordedProgram& recorded, std::size_t rank) {
  return StepReader(recorded).read(rank);
}

}  // namespace ringscope::traces
