// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "traces/analysis/clock/timeline.h"

namespace ringscope::traces {

/// The times at which everything of a program was posted and moved in a replay.
struct ReplayState {
  static constexpr std::int64_t kNever = -1;

  struct Message {
    std::int64_t sender_posted_ns = kNever, receiver_posted_ns = kNever;
    std::int64_t start_ns = kNever;  ///< begins to move
    std::int64_t left_ns = kNever;   ///< the sender need no longer wait
    std::int64_t end_ns = kNever;    ///< arrives

    bool posted() const { return sender_posted_ns != kNever && receiver_posted_ns != kNever; }
    /// Both ends have posted the message: it is under way from then on.
    std::int64_t readyNs() const { return std::max(sender_posted_ns, receiver_posted_ns); }
  };
  struct Exchange {
    std::uint32_t outstanding = 0;                ///< messages that have not arrived or left
    std::uint32_t post_op = Program::kNone;       ///< the rank's op that posted the exchange
    std::uint32_t last_message = Program::kNone;  ///< the last to arrive or leave
    std::int64_t done_ns = 0;
  };
  struct Collective {
    std::int32_t posted = 0;
    std::uint32_t last_rank = Program::kNone, last_op = Program::kNone;  ///< the last to post
    std::int64_t ready_ns = 0, end_ns = 0;
  };

  std::vector<Message> messages;
  std::vector<std::vector<Exchange>> exchanges;  ///< by rank
  std::vector<Collective> collectives;
  std::vector<std::vector<std::int64_t>> op_end_ns;  ///< by rank

  /// Each op begins when the op before it ends.
  std::int64_t opBeginNs(std::size_t rank, std::size_t op) const {
    return op == 0 ? 0 : op_end_ns[rank][op - 1];
  }
};

/// Reports whether `rank` sends this message in an exchange of its own; otherwise it receives it.
inline bool sendsIn(const Program::Message& message, std::size_t rank, std::uint32_t exchange) {
  return message.from.index() == rank && message.send_exchange == exchange;
}

/// Replays a program; see replay().
ReplayState replayState(const Program& program, const Hardware& hardware,
                        const std::stop_token& stop);

/// Both need the state of a complete replay.
std::vector<WaitCost> waitCosts(const Program& program, const ReplayState& state);
std::vector<CriticalPart> criticalPath(const Program& program, const ReplayState& state);

}  // namespace ringscope::traces
