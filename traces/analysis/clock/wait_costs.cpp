// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/replay_state.h"

namespace ringscope::traces {
namespace {

using Op = Program::Op;

/// How much of the spans, several at once counted once, lies before and after a moment.
struct Union {
  std::int64_t before_ns = 0, after_ns = 0;
};

Union unionOf(std::vector<ClockSpan>& spans, std::int64_t moment_ns) {
  if (spans.size() > 1)
    std::sort(spans.begin(), spans.end(),
              [](const ClockSpan& a, const ClockSpan& b) { return a.begin_ns < b.begin_ns; });
  Union sum;
  std::int64_t counted_until = 0;
  for (const ClockSpan& span : spans) {
    const std::int64_t begin = std::max(span.begin_ns, counted_until);
    if (span.end_ns <= begin) continue;
    counted_until = span.end_ns;
    sum.before_ns += std::max<std::int64_t>(0, std::min(span.end_ns, moment_ns) - begin);
    sum.after_ns += std::max<std::int64_t>(0, span.end_ns - std::max(begin, moment_ns));
  }
  return sum;
}

class Costs {
 public:
  Costs(const Program& program, const ReplayState& state) : program_(program), state_(state) {}

  WaitCost of(std::size_t r, std::size_t o) {
    const Program::Rank& rank = program_.ranks[r];
    const Op& op = rank.ops[o];
    WaitCost cost;
    cost.rank = WorldRank::of(r);
    cost.event = op.event;
    if (op.event != Program::kNone) {
      cost.place = rank.events[op.event].place;
      cost.payload = rank.events[op.event].payload;
    }
    const ClockSpan wait{state_.opBeginNs(r, o), state_.op_end_ns[r][o]};
    cost.exposed_ns = wait.duration();
    op.kind == Op::Kind::kWait ? addExchange(cost, r, op.subject, wait)
                               : addCollective(cost, op.subject, wait);
    return cost;
  }

 private:
  void addExchange(WaitCost& cost, std::size_t r, std::uint32_t e, const ClockSpan& wait) {
    const Program::Rank& rank = program_.ranks[r];
    const Program::Exchange& exchange = rank.exchanges[e];
    spans_.clear();
    for (std::uint32_t i = 0; i < exchange.count; ++i) {
      const std::uint32_t m = rank.posted[exchange.first + i];
      const bool sends = sendsIn(program_.messages[m], r, e);
      if (!sends) cost.bytes += program_.messages[m].bytes;
      const auto& moved = state_.messages[m];
      spans_.push_back({moved.readyNs(), sends ? moved.left_ns : moved.end_ns});
    }
    const Union under_way = unionOf(spans_, wait.begin_ns);
    cost.under_way_ns = under_way.before_ns + under_way.after_ns;
    cost.hidden_ns = under_way.before_ns;
    cost.late_ns = cost.exposed_ns - under_way.after_ns;
  }

  void addCollective(WaitCost& cost, std::uint32_t c, const ClockSpan& wait) {
    const auto& collective = state_.collectives[c];
    cost.bytes = program_.collectives[c].bytes;
    cost.late_ns = collective.ready_ns - wait.begin_ns;
    cost.under_way_ns = collective.end_ns - collective.ready_ns;
  }

  const Program& program_;
  const ReplayState& state_;
  std::vector<ClockSpan> spans_;
};

}  // namespace

std::vector<WaitCost> waitCosts(const Program& program, const ReplayState& state) {
  Costs costs(program, state);
  std::vector<WaitCost> all;
  std::size_t exchanges = 0;
  for (const Program::Rank& rank : program.ranks) exchanges += rank.exchanges.size();
  all.reserve(exchanges + program.collectives.size());
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const auto& ops = program.ranks[r].ops;
    for (std::size_t o = 0; o < ops.size(); ++o)
      if (ops[o].kind == Op::Kind::kWait || ops[o].kind == Op::Kind::kCollective)
        all.push_back(costs.of(r, o));
  }
  return all;
}

}  // namespace ringscope::traces
