// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "traces/format/schema/event.h"
#include "traces/format/schema/groups.h"

namespace ringscope::traces {

/// The schedule of training steps: the order of each rank's actions, what they wait for, and the
/// time of its work, but no other times. Made from a recording (recorded_program.h) or from a plan
/// (planned_program.h); replay() finds the times.
struct Program {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// One action of a rank. The next action begins when it has ended.
  struct Op {
    enum class Kind : std::uint8_t {
      kWork,       ///< computes for work_ns ÷ Hardware::compute_scale, at least its kernels' floor
      kPost,       ///< posts the messages of exchange `subject`; takes no time
      kWait,       ///< waits until all messages of exchange `subject` have arrived or left
      kCollective  ///< posts collective `subject` and waits until it is complete
    };
    std::int64_t work_ns = 0;
    std::uint32_t subject = kNone;
    std::uint32_t event = kNone;  ///< index in Rank::events; none: the op belongs to no event
    Kind kind = Kind::kWork;
    float kernels = 0;        ///< the number of kernels that a device starts for the op
    float memory_share = -1;  ///< the share of work_ns that is memory traffic; negative: unknown
  };

  /// A stage, wait, send, receive or collective of one rank, as it is shown and summed.
  struct Happening {
    Place place;
    std::int64_t bytes = 0;
    WorldRank source_rank;  ///< owner of the KV block that is attended, merged or moved
    WorldRank peer;         ///< the other end of a send, receive or wait
    EventKind kind = EventKind::kAttend;
    Payload payload = Payload::kNone;
  };

  struct Message {
    std::int64_t bytes = 0;
    WorldRank from, to;
    std::uint32_t send_exchange = kNone;     ///< index in the sender's exchanges
    std::uint32_t receive_exchange = kNone;  ///< index in the receiver's exchanges
    std::uint32_t send_event = kNone;        ///< index in the sender's events; none: not shown
    std::uint32_t receive_event = kNone;     ///< index in the receiver's events
  };

  /// An all-reduce.
  struct Collective {
    std::int64_t bytes = 0;
    std::int32_t ranks = 1;    ///< that share the all-reduce; its time depends on them
    std::int32_t members = 1;  ///< of those, the ranks of this program
    GroupAxis axis = GroupAxis::kOther;
  };

  /// The messages that one rank posts at once: [first, first + count) of Rank::posted.
  struct Exchange {
    std::uint32_t first = 0, count = 0;
  };

  struct Rank {
    std::vector<Op> ops;
    std::vector<Happening> events;
    std::vector<Exchange> exchanges;
    std::vector<std::uint32_t> posted;  ///< indices of Program::messages, sends and receives
  };

  std::vector<Rank> ranks;  ///< by world rank
  std::vector<Message> messages;
  std::vector<Collective> collectives;
};

}  // namespace ringscope::traces
