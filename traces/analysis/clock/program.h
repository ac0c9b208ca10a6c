// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "traces/format/schema/event.h"
#include "traces/format/schema/groups.h"

namespace ringscope::traces {

/// What each rank does in which order, and what it waits for: the schedule of training steps
/// without any times but those of its work. Made of a recording (recorded_program.h) or of a plan
/// (planned_program.h), replayed by replay(). A pure value.
struct Program {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// One thing that a rank does; the next begins when it has ended.
  struct Op {
    enum class Kind : std::uint8_t {
      kWork,  ///< computes for work_ns ÷ Hardware::compute_scale, at least its kernels' floor
      kPost,  ///< posts the messages of exchange `subject`; takes no time
      kWait,  ///< until all messages of exchange `subject` have arrived or left
      kCollective,  ///< posts collective `subject` and waits until it is complete
    };
    std::int64_t work_ns = 0;
    std::uint32_t subject = kNone;
    std::uint32_t event = kNone;  ///< of RankProgram::events, whose time this is; none: of no event
    Kind kind = Kind::kWork;
    float kernels =
        0;  ///< that a device starts for it: a share of its stage's, see stage_kernels.h
    float memory_share = -1;  ///< of work_ns: memory traffic, the rest computes; below 0: not known
  };

  /// What is drawn and summed: a stage, a wait, a send, a receive or a collective of one rank.
  struct Happening {
    Place place;
    std::int64_t bytes = 0;
    WorldRank source_rank;  ///< whose KV block is attended, merged or moved
    WorldRank peer;         ///< send, receive, wait: the other side
    EventKind kind = EventKind::kAttend;
    Payload payload = Payload::kNone;
  };

  struct Message {
    std::int64_t bytes = 0;
    WorldRank from, to;
    std::uint32_t send_exchange = kNone;     ///< of the sender's exchanges
    std::uint32_t receive_exchange = kNone;  ///< of the receiver's
    std::uint32_t send_event = kNone;        ///< of the sender's events; none: not drawn
    std::uint32_t receive_event = kNone;     ///< of the receiver's
  };

  /// An all-reduce.
  struct Collective {
    std::int64_t bytes = 0;
    std::int32_t ranks = 1;    ///< whose time is taken: may be more than take part here
    std::int32_t members = 1;  ///< that post it here
    GroupAxis axis = GroupAxis::kOther;
  };

  /// Messages that one rank posts at once: [first, first + count) of Rank::posted.
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
