// SPDX-License-Identifier: Apache-2.0
// The cost of each wait and the critical path of a replay. No other file computes them.
#include "traces/analysis/clock/replay_state.h"

namespace ringscope::traces {
namespace {

using Op = Program::Op;

/// The length of the union of spans before and after a moment.
struct UnionLength {
  std::int64_t before_ns = 0, after_ns = 0;
};

UnionLength measureUnion(std::vector<ClockSpan>& spans, std::int64_t moment_ns) {
  std::ranges::sort(spans, {}, &ClockSpan::begin_ns);
  UnionLength length;
  std::int64_t counted_until = 0;
  for (const ClockSpan& span : spans) {
    const std::int64_t begin = std::max(span.begin_ns, counted_until);
    if (span.end_ns <= begin) continue;
    counted_until = span.end_ns;
    length.before_ns += std::max<std::int64_t>(0, std::min(span.end_ns, moment_ns) - begin);
    length.after_ns += std::max<std::int64_t>(0, span.end_ns - std::max(begin, moment_ns));
  }
  return length;
}

/// `spans` is reused between calls, so that a million waits do not allocate.
WaitCost waitCost(const Program& program, const ReplayState& state, std::size_t r, std::size_t o,
                  std::vector<ClockSpan>& spans) {
  const Program::Rank& rank = program.ranks[r];
  const Op& op = rank.ops[o];
  const ClockSpan wait{state.opBeginNs(r, o), state.op_end_ns[r][o]};
  WaitCost cost;
  cost.rank = WorldRank::of(r);
  cost.event = op.event;
  cost.exposed_ns = wait.duration();
  if (op.event != Program::kNone) {
    cost.place = rank.events[op.event].place;
    cost.payload = rank.events[op.event].payload;
  }
  if (op.kind == Op::Kind::kCollective) {
    const auto& collective = state.collectives[op.subject];
    cost.bytes = program.collectives[op.subject].bytes;
    cost.late_ns = collective.ready_ns - wait.begin_ns;
    cost.under_way_ns = collective.end_ns - collective.ready_ns;
    return cost;
  }
  const Program::Exchange& exchange = rank.exchanges[op.subject];
  spans.clear();
  for (std::uint32_t i = 0; i < exchange.count; ++i) {
    const std::uint32_t m = rank.posted[exchange.first + i];
    const bool sends = sendsIn(program.messages[m], r, op.subject);
    if (!sends) cost.bytes += program.messages[m].bytes;
    const auto& moved = state.messages[m];
    spans.push_back({moved.readyNs(), sends ? moved.left_ns : moved.end_ns});
  }
  const UnionLength under_way = measureUnion(spans, wait.begin_ns);
  cost.under_way_ns = under_way.before_ns + under_way.after_ns;
  cost.hidden_ns = under_way.before_ns;
  cost.late_ns = cost.exposed_ns - under_way.after_ns;
  return cost;
}

/// Walks back from the last end to 0 over the work of ranks. A wait is crossed over the transfer
/// that ended it, to the rank that posted this transfer last.
class CriticalWalk {
 public:
  CriticalWalk(const Program& program, const ReplayState& state)
      : program_(program), state_(state) {}

  std::vector<CriticalPart> run() {
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
      const auto& ends = state_.op_end_ns[r];
      if (ends.empty() || (next_op_ > 0 && ends.back() <= now_ns_)) continue;
      rank_ = r;
      next_op_ = ends.size();
      now_ns_ = ends.back();
    }
    while (next_op_ > 0) step();
    std::ranges::reverse(parts_);
    return std::move(parts_);
  }

 private:
  void step() {
    op_ = --next_op_;
    const Op& op = program_.ranks[rank_].ops[op_];
    const std::int64_t begin_ns = state_.opBeginNs(rank_, op_);
    if (begin_ns == now_ns_) return;
    if (op.kind == Op::Kind::kWork)
      add(op.event, begin_ns, CriticalPart::Kind::kWork);
    else if (op.kind == Op::Kind::kWait)
      crossMessage(op);
    else
      crossCollective(op);
  }

  void crossMessage(const Op& op) {
    const std::uint32_t m = state_.exchanges[rank_][op.subject].last_message;
    const auto& moved = state_.messages[m];
    const Program::Message& message = program_.messages[m];
    const bool sends = sendsIn(message, rank_, op.subject);
    add(op.event, moved.readyNs(), CriticalPart::Kind::kTransfer, m);
    const bool own_was_last = sends ? moved.sender_posted_ns >= moved.receiver_posted_ns
                                    : moved.receiver_posted_ns >= moved.sender_posted_ns;
    std::uint32_t exchange = op.subject;
    if (!own_was_last) {
      rank_ = (sends ? message.to : message.from).index();
      exchange = sends ? message.receive_exchange : message.send_exchange;
    }
    next_op_ = state_.exchanges[rank_][exchange].post_op;
  }

  void crossCollective(const Op& op) {
    const auto& collective = state_.collectives[op.subject];
    add(op.event, collective.ready_ns, CriticalPart::Kind::kTransfer);
    rank_ = collective.last_rank;
    next_op_ = collective.last_op;
  }

  void add(std::uint32_t event, std::int64_t begin_ns, CriticalPart::Kind kind,
           std::uint32_t message = Program::kNone) {
    if (begin_ns < now_ns_)
      parts_.push_back({WorldRank::of(rank_),
                        event,
                        {begin_ns, now_ns_},
                        kind,
                        message,
                        static_cast<std::uint32_t>(op_)});
    now_ns_ = begin_ns;
  }

  const Program& program_;
  const ReplayState& state_;
  std::vector<CriticalPart> parts_;
  std::size_t rank_ = 0, op_ = 0, next_op_ = 0;  ///< next_op_: one after the op to look at next
  std::int64_t now_ns_ = 0;
};

}  // namespace

std::vector<WaitCost> waitCosts(const Program& program, const ReplayState& state) {
  std::vector<WaitCost> costs;
  std::vector<ClockSpan> spans;
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const auto& ops = program.ranks[r].ops;
    for (std::size_t o = 0; o < ops.size(); ++o)
      if (ops[o].kind == Op::Kind::kWait || ops[o].kind == Op::Kind::kCollective)
        costs.push_back(waitCost(program, state, r, o, spans));
  }
  return costs;
}

std::vector<CriticalPart> criticalPath(const Program& program, const ReplayState& state) {
  return CriticalWalk(program, state).run();
}

}  // namespace ringscope::traces
