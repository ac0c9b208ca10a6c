// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "traces/core/place.h"

namespace ringscope::traces {

/// What a stretch of one rank's time was spent on. Values are serialized: append, never renumber.
enum class EventKind : std::uint8_t {
  kAttend = 0,   ///< block attention of one piece
  kSend,         ///< a message under way to `peer`, from posting to completion
  kReceive,      ///< a message under way from `peer`, from posting to completion
  kMerge,        ///< merging a block's out and lse (forward), or adding dk, dv (backward)
  kWait,         ///< blocked until a transfer completes
  kShard,        ///< cutting the buffers of a batch
  kEmbed,        ///< token embedding
  kProject,      ///< norm, q/k/v projections and rotary embedding
  kFeedForward,  ///< output projection, residuals, norm and MLP
  kLoss,         ///< final norm, logits and cross entropy
  kGradSync,     ///< reducing gradients over ranks
  kClip,         ///< global norm and clipping
  kOptimizer,    ///< the parameter update
  kPause,        ///< held at a gate by the control connection; left out of durations
  kVerify,       ///< comparing with unsharded attention
  kCount
};

/// What a message carries; kHeads: what turns a sequence into heads, or back (Ulysses). Values are
/// serialized: append, never renumber.
enum class Payload : std::uint8_t { kNone = 0, kKv, kDkv, kGrads, kScalars, kHeads, kCount };

/// Which pairs of a piece's query and key ranges are attended.
enum class PieceMask : std::uint8_t { kFull = 0, kCausal, kStrict, kTileMask, kCount };

const char* name(EventKind kind);
const char* name(Payload payload);
const char* name(PieceMask mask);

/// One recorded stretch of one rank's time. Times are nanoseconds since the run began.
struct Event {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t cpu_ns = 0;  ///< thread CPU time within; 0 for send and receive
  std::int64_t bytes = 0;   ///< payload of a send, a receive or a collective
  std::uint64_t flow = 0;   ///< equal on a send and its receive, 0 elsewhere
  Place place;
  std::int32_t q_begin = 0;  ///< attend: local query rows [q_begin, q_end) of this rank's shard
  std::int32_t q_end = 0;
  std::int32_t k_begin = 0;  ///< attend: local key rows [k_begin, k_end) of the source's shard
  std::int32_t k_end = 0;
  std::int16_t rank = 0;
  std::int16_t peer = -1;         ///< send, receive: the other side
  std::int16_t source_rank = -1;  ///< whose KV block is attended, merged or moved
  EventKind kind = EventKind::kAttend;
  Payload payload = Payload::kNone;
  PieceMask mask = PieceMask::kFull;

  std::int64_t duration() const { return end_ns - begin_ns; }
};

}  // namespace ringscope::traces
