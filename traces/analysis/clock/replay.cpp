// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <unordered_map>

#include "traces/analysis/clock/replay_state.h"
#include "traces/analysis/clock/replay_times.h"
#include "traces/format/core/error.h"
#include "traces/format/core/stopped.h"

namespace ringscope::traces {
namespace {

using Op = Program::Op;

/// A message that leaves, or whose first byte reaches its receiver. Movements at the same time go
/// in the order of the receiver's distance after the sender, then in the program's order.
struct Movement {
  std::int64_t at_ns;
  std::uint32_t distance, message;
  bool arriving;

  friend bool operator>(const Movement& a, const Movement& b) {
    if (a.at_ns != b.at_ns) return a.at_ns > b.at_ns;
    if (a.distance != b.distance) return a.distance > b.distance;
    return a.message > b.message;
  }
};

/// Ranks run ahead until they wait; messages move in the order of time. This is safe because a rank
/// that a movement wakes posts nothing before that movement.
class Replay {
 public:
  Replay(const Program& program, const Hardware& hardware)
      : program_(program),
        hardware_(hardware),
        latency_ns_(latencyNs(hardware.link)),
        transfer_floor_ns_(transferFloorNs(hardware)),
        at_(program.ranks.size()),
        sending_until_(program.ranks.size(), 0),
        receiving_until_(program.ranks.size(), 0) {
    const std::size_t ranks = program.ranks.size();
    state_.messages.resize(program.messages.size());
    state_.collectives.resize(program.collectives.size());
    waiting_for_.resize(program.collectives.size());
    state_.exchanges.resize(ranks);
    state_.op_end_ns.resize(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      const Program::Rank& rank = program.ranks[r];
      state_.op_end_ns[r].resize(rank.ops.size());
      state_.exchanges[r].resize(rank.exchanges.size());
      for (std::size_t e = 0; e < rank.exchanges.size(); ++e)
        state_.exchanges[r][e].outstanding = rank.exchanges[e].count;
    }
  }

  ReplayState run(const std::stop_token& stop) {
    for (std::uint32_t r = 0; r < at_.size(); ++r) woken_.push_back(r);
    advanceWoken();
    while (!moving_.empty()) {
      if (stop.stop_requested()) throw Stopped();
      const Movement next = moving_.top();
      moving_.pop();
      next.arriving ? arrive(next) : leave(next);
      advanceWoken();
    }
    requireAllEnded();
    return std::move(state_);
  }

 private:
  struct RankAt {
    std::uint32_t op = 0;
    bool posted = false;  ///< the collective at `op`
    std::int64_t now_ns = 0;
  };

  void advanceWoken() {
    for (std::size_t i = 0; i < woken_.size(); ++i) advance(woken_[i]);
    woken_.clear();
  }

  void advance(std::uint32_t r) {
    RankAt& at = at_[r];
    const auto& ops = program_.ranks[r].ops;
    for (; at.op < ops.size(); ++at.op, at.posted = false) {
      if (!finishes(r, ops[at.op])) return;
      state_.op_end_ns[r][at.op] = at.now_ns;
    }
  }

  /// Does an op. Reports whether it has ended, at now_ns.
  bool finishes(std::uint32_t r, const Op& op) {
    RankAt& at = at_[r];
    switch (op.kind) {
      case Op::Kind::kWork:
        at.now_ns += workNs(op, hardware_);
        return true;
      case Op::Kind::kPost:
        if (hardware_.overlap) post(r, op.subject);
        return true;
      case Op::Kind::kWait:
        return finishesWait(r, op.subject);
      case Op::Kind::kCollective:
        return finishesCollective(r, op.subject);
    }
    return true;
  }

  bool finishesWait(std::uint32_t r, std::uint32_t e) {
    auto& exchange = state_.exchanges[r][e];
    if (exchange.post_op == Program::kNone) post(r, e);
    if (exchange.outstanding > 0) return false;
    at_[r].now_ns = std::max(at_[r].now_ns, exchange.done_ns);
    return true;
  }

  void post(std::uint32_t r, std::uint32_t e) {
    const std::int64_t now_ns = at_[r].now_ns;
    auto& exchange = state_.exchanges[r][e];
    if (exchange.post_op != Program::kNone) return;
    exchange.post_op = at_[r].op;
    exchange.done_ns = now_ns;
    const Program::Rank& rank = program_.ranks[r];
    for (std::uint32_t i = 0; i < rank.exchanges[e].count; ++i) {
      const std::uint32_t m = rank.posted[rank.exchanges[e].first + i];
      const Program::Message& message = program_.messages[m];
      auto& moving = state_.messages[m];
      const bool sends = sendsIn(message, r, e) && moving.sender_posted_ns == ReplayState::kNever;
      (sends ? moving.sender_posted_ns : moving.receiver_posted_ns) = now_ns;
      if (moving.posted()) moving_.push({moving.readyNs(), hopDistance(message), m, false});
    }
  }

  std::uint32_t hopDistance(const Program::Message& message) const {
    const auto ranks = static_cast<std::int64_t>(at_.size());
    return static_cast<std::uint32_t>((message.to.value() - message.from.value() + ranks) % ranks);
  }

  bool finishesCollective(std::uint32_t r, std::uint32_t c) {
    RankAt& at = at_[r];
    auto& collective = state_.collectives[c];
    const Program::Collective& planned = program_.collectives[c];
    if (!at.posted) {
      at.posted = true;
      ++collective.posted;
      if (collective.last_rank == Program::kNone || at.now_ns > collective.ready_ns) {
        collective.ready_ns = at.now_ns;
        collective.last_rank = r;
        collective.last_op = at.op;
      }
      if (collective.posted == planned.members) {
        collective.end_ns = collective.ready_ns + collectiveTime(planned, hardware_).totalNs();
        woken_.insert(woken_.end(), waiting_for_[c].begin(), waiting_for_[c].end());
        waiting_for_[c].clear();
      }
    }
    if (collective.posted < planned.members) {
      waiting_for_[c].push_back(r);
      return false;
    }
    at.now_ns = collective.end_ns;
    return true;
  }

  void leave(const Movement& movement) {
    const Program::Message& message = program_.messages[movement.message];
    auto& moving = state_.messages[movement.message];
    std::int64_t& busy_until = sendingUntil(message);
    moving.start_ns = std::max(movement.at_ns, busy_until);
    busy_until = moving.start_ns + wireNs(hardware_.link, message.bytes);
    moving.left_ns = std::max(busy_until, moving.readyNs() + transfer_floor_ns_);
    moving_.push({moving.start_ns + latency_ns_, movement.distance, movement.message, true});
    finish(message.from.index(), message.send_exchange, movement.message, moving.left_ns);
  }

  void arrive(const Movement& movement) {
    const Program::Message& message = program_.messages[movement.message];
    auto& moving = state_.messages[movement.message];
    std::int64_t begin = movement.at_ns;
    if (hardware_.link.shared) {
      auto& busy = hardware_.link.full_duplex ? receiving_until_ : sending_until_;
      std::int64_t& busy_until = busy[message.to.index()];
      begin = std::max(begin, busy_until);
      busy_until = begin + wireNs(hardware_.link, message.bytes);
    }
    moving.end_ns = std::max(begin + wireNs(hardware_.link, message.bytes),
                             moving.readyNs() + transfer_floor_ns_);
    finish(message.to.index(), message.receive_exchange, movement.message, moving.end_ns);
  }

  /// Returns when the link by which the message leaves becomes free.
  std::int64_t& sendingUntil(const Program::Message& message) {
    if (hardware_.link.shared) return sending_until_[message.from.index()];
    auto from = static_cast<std::uint64_t>(message.from.value());
    auto to = static_cast<std::uint64_t>(message.to.value());
    if (!hardware_.link.full_duplex && from > to) std::swap(from, to);
    return pair_until_[(from << 32) | to];
  }

  void finish(std::size_t r, std::uint32_t e, std::uint32_t message, std::int64_t at_ns) {
    auto& exchange = state_.exchanges[r][e];
    if (exchange.last_message == Program::kNone || at_ns > exchange.done_ns) {
      exchange.done_ns = std::max(exchange.done_ns, at_ns);
      exchange.last_message = message;
    }
    if (--exchange.outstanding > 0) return;
    const auto& ops = program_.ranks[r].ops;
    const std::uint32_t op = at_[r].op;
    const bool waits = op < ops.size() && ops[op].kind == Op::Kind::kWait && ops[op].subject == e;
    if (waits) woken_.push_back(static_cast<std::uint32_t>(r));
  }

  void requireAllEnded() const {
    for (std::size_t r = 0; r < at_.size(); ++r) {
      const auto& ops = program_.ranks[r].ops;
      if (at_[r].op == ops.size()) continue;
      const Op& op = ops[at_[r].op];
      const std::string where = op.event == Program::kNone
                                    ? std::string("an unnamed place")
                                    : describe(program_.ranks[r].events[op.event].place);
      throw inputError("rank " + std::to_string(r) + " waits for ever at " + where + ", for " +
                       describeBlocker(r, op) + "; such a schedule has no times");
    }
  }

  std::string describeBlocker(std::size_t r, const Op& op) const {
    if (op.kind == Op::Kind::kCollective) {
      const auto missing =
          program_.collectives[op.subject].members - state_.collectives[op.subject].posted;
      return std::to_string(missing) + " members of its group";
    }
    const Program::Rank& rank = program_.ranks[r];
    const Program::Exchange& exchange = rank.exchanges[op.subject];
    for (std::uint32_t i = 0; i < exchange.count; ++i) {
      const std::uint32_t m = rank.posted[exchange.first + i];
      if (state_.messages[m].posted()) continue;
      const Program::Message& message = program_.messages[m];
      const bool sends = sendsIn(message, r, op.subject);
      return "a message that rank " + toString(sends ? message.to : message.from) +
             (sends ? " never takes" : " never sends");
    }
    return "a message";
  }

  const Program& program_;
  const Hardware& hardware_;
  const std::int64_t latency_ns_, transfer_floor_ns_;
  ReplayState state_;
  std::vector<RankAt> at_;
  std::vector<std::vector<std::uint32_t>> waiting_for_;  ///< ranks, by collective
  std::vector<std::int64_t> sending_until_, receiving_until_;
  std::unordered_map<std::uint64_t, std::int64_t> pair_until_;
  std::vector<std::uint32_t> woken_;
  std::priority_queue<Movement, std::vector<Movement>, std::greater<>> moving_;
};

}  // namespace

ReplayState replayState(const Program& program, const Hardware& hardware,
                        const std::stop_token& stop) {
  requireSensible(hardware);
  return Replay(program, hardware).run(stop);
}

}  // namespace ringscope::traces
