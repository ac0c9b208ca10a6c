// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/replay_state.h"

namespace ringscope::traces {
namespace {

using Op = Program::Op;

/// Walks from the last end back to 0: over a rank's work, and where the rank stood still, over the
/// transfer that ended its wait to whoever posted that last.
class Walk {
 public:
  Walk(const Program& program, const ReplayState& state) : program_(program), state_(state) {}

  std::vector<CriticalPart> run() {
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
      const auto& ends = state_.op_end_ns[r];
      if (ends.empty() || (next_op_ > 0 && ends.back() <= now_ns_)) continue;
      rank_ = r;
      next_op_ = ends.size();
      now_ns_ = ends.back();
    }
    while (next_op_ > 0) step();
    std::reverse(parts_.begin(), parts_.end());
    return std::move(parts_);
  }

 private:
  void step() {
    const std::size_t o = --next_op_;
    at_op_ = static_cast<std::uint32_t>(o);
    const Op& op = program_.ranks[rank_].ops[o];
    const std::int64_t begin = state_.opBeginNs(rank_, o);
    if (begin == now_ns_) return;
    if (op.kind == Op::Kind::kWork)
      add(op.event, begin, CriticalPart::Kind::kWork);
    else if (op.kind == Op::Kind::kWait)
      overMessage(op);
    else
      overCollective(op);
  }

  void overMessage(const Op& op) {
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

  void overCollective(const Op& op) {
    const auto& collective = state_.collectives[op.subject];
    add(op.event, collective.ready_ns, CriticalPart::Kind::kTransfer);
    rank_ = collective.last_rank;
    next_op_ = collective.last_op;
  }

  void add(std::uint32_t event, std::int64_t begin_ns, CriticalPart::Kind kind,
           std::uint32_t message = Program::kNone) {
    if (begin_ns < now_ns_)
      parts_.push_back({WorldRank::of(rank_), event, {begin_ns, now_ns_}, kind, message, at_op_});
    now_ns_ = begin_ns;
  }

  const Program& program_;
  const ReplayState& state_;
  std::vector<CriticalPart> parts_;
  std::size_t rank_ = 0, next_op_ = 0;  ///< one past the op to look at
  std::uint32_t at_op_ = 0;             ///< that is looked at
  std::int64_t now_ns_ = 0;
};

}  // namespace

std::vector<CriticalPart> criticalPath(const Program& program, const ReplayState& state) {
  return Walk(program, state).run();
}

}  // namespace ringscope::traces
