// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "traces/analysis/clock/timeline.h"

namespace ringscope::traces {

/// When everything of a program was posted and moved: what a replay finds out, and what the
/// timeline is made of.
struct ReplayState {
  static constexpr std::int64_t kNever = -1;

  struct Message {
    std::int64_t sender_posted_ns = kNever, receiver_posted_ns = kNever;
    std::int64_t start_ns = kNever;  ///< began to move
    std::int64_t left_ns = kNever;   ///< the sender need not wait for it any more
    std::int64_t end_ns = kNever;    ///< arrived

    bool posted() const { return sender_posted_ns != kNever && receiver_posted_ns != kNever; }
    /// When both ends had posted it: from then on it is under way.
    std::int64_t readyNs() const { return std::max(sender_posted_ns, receiver_posted_ns); }
  };
  struct Exchange {
    std::uint32_t outstanding = 0;                ///< messages that have not arrived or left
    std::uint32_t post_op = Program::kNone;       ///< the rank's op that posted it
    std::uint32_t last_message = Program::kNone;  ///< that arrived or left last
    std::int64_t done_ns = 0;
  };
  struct Collective {
    std::int32_t posted = 0;
    std::uint32_t last_rank = Program::kNone, last_op = Program::kNone;  ///< the last to post it
    std::int64_t ready_ns = 0, end_ns = 0;
  };

  std::vector<Message> messages;
  std::vector<std::vector<Exchange>> exchanges;  ///< by rank
  std::vector<Collective> collectives;
  std::vector<std::vector<std::int64_t>> op_end_ns;  ///< by rank; each op begins at the last's end

  std::int64_t opBeginNs(std::size_t rank, std::size_t op) const {
    return op == 0 ? 0 : op_end_ns[rank][op - 1];
  }
};

/// Whether `rank` sends this message in its exchange of this number, or receives it.
inline bool sendsIn(const Program::Message& message, std::size_t rank, std::uint32_t exchange) {
  return message.from.index() == rank && message.send_exchange == exchange;
}

/// Replays a program; see replay().
ReplayState replayState(const Program& program, const Hardware& hardware,
                        const std::stop_token& stop);

/// Of an ended replay.
std::vector<WaitCost> waitCosts(const Program& program, const ReplayState& state);
std::vector<CriticalPart> criticalPath(const Program& program, const ReplayState& state);

}  // namespace ringscope::traces
