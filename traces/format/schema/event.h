// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "traces/format/schema/fields.h"
#include "traces/format/schema/place.h"

namespace ringscope::traces {

/// The activity of a stretch of one rank's time. Values are serialized: append, never renumber.
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
  kCollective,   ///< a collective of `group`, from this rank's posting to its completion
  kCount
};
template <>
struct EnumNames<EventKind> {
  static constexpr const char* kWhat = "event kind";
  static constexpr std::array<const char*, 16> kNames = {
      "attend",       "send", "receive",   "merge", "wait",      "shard", "embed",  "project",
      "feed_forward", "loss", "grad_sync", "clip",  "optimizer", "pause", "verify", "collective"};
};

/// Reports whether an accelerator does this work, for a rank that computes on one. Excludes
/// waiting, transfers and everything that is no part of training.
constexpr bool isDeviceWork(EventKind kind) {
  switch (kind) {
    case EventKind::kSend:
    case EventKind::kReceive:
    case EventKind::kCollective:
    case EventKind::kWait:
    case EventKind::kPause:
    case EventKind::kVerify:
    case EventKind::kCount:
      return false;
    default:
      return true;
  }
}

/// The content of a message. kHeads: data that an all-to-all exchanges between sequence and heads
/// (Ulysses). kActivations: partial sums of a layer under tensor parallelism. Values are
/// serialized: append, never renumber.
enum class Payload : std::uint8_t {
  kNone = 0,
  kKv,
  kDkv,
  kGrads,
  kScalars,
  kHeads,
  kActivations,
  kCount
};
template <>
struct EnumNames<Payload> {
  static constexpr const char* kWhat = "payload";
  static constexpr std::array<const char*, 7> kNames = {"none",    "kv",    "dkv",        "grads",
                                                        "scalars", "heads", "activations"};
};

/// The pairs of a piece's query and key ranges that are attended.
enum class PieceMask : std::uint8_t { kFull = 0, kCausal, kStrict, kTileMask, kCount };
template <>
struct EnumNames<PieceMask> {
  static constexpr const char* kWhat = "piece mask";
  static constexpr std::array<const char*, 4> kNames = {"full", "causal", "strict", "tile_mask"};
};

/// The clock that measured an event's times; all times are converted to the run clock. Values are
/// serialized: append, never renumber.
enum class Clock : std::uint8_t {
  kHost = 0,  ///< the recording process's steady clock
  kDevice,    ///< events of an accelerator's queue
  kCount
};
template <>
struct EnumNames<Clock> {
  static constexpr const char* kWhat = "clock";
  static constexpr std::array<const char*, 2> kNames = {"host", "device"};
};

/// One recorded stretch of one rank's time. Times are nanoseconds since the run began.
struct Event {
  std::int64_t begin_ns = 0;  ///< send, receive, collective: the time of posting
  std::int64_t start_ns = 0;  ///< the start of the transfer; begin_ns when unknown
  std::int64_t end_ns = 0;
  std::int64_t cpu_ns = 0;  ///< thread CPU time within the event; 0 for send and receive
  std::int64_t bytes = 0;   ///< payload of a send, a receive or a collective
  std::uint64_t flow = 0;   ///< equal on a send and its receive, and on the members of a collective
  /// The rank's exchange in which a send or receive was posted, or for which a wait waited; 0:
  /// none.
  std::uint32_t exchange = 0;
  std::uint32_t pending =
      0;  ///< number of the TimesRecord that brings the times later; 0: they are final
  Place place;
  std::int32_t microbatch = 0;
  std::int32_t q_begin = 0;  ///< attend: local query rows [q_begin, q_end) of those attended
  std::int32_t q_end = 0;
  std::int32_t k_begin = 0;  ///< attend: local key rows [k_begin, k_end) of the source's block
  std::int32_t k_end = 0;
  WorldRank rank = WorldRank::of(0);
  WorldRank peer;          ///< send, receive: the other side
  WorldRank source_rank;   ///< rank whose KV block is attended, merged or moved
  GroupId group;           ///< group of a message or collective; none: not recorded
  PieceIndex piece;        ///< attend, merge: index in the schedule's stage
  std::uint8_t queue = 0;  ///< 0: the rank's own thread; 1 and above: its device's queues
  EventKind kind = EventKind::kAttend;
  Payload payload = Payload::kNone;
  PieceMask mask = PieceMask::kFull;
  Pass pass = Pass::kForward;
  Clock clock = Clock::kHost;

  std::int64_t duration() const { return end_ns - begin_ns; }
};

template <>
struct Fields<Event> {
  static void visit(auto&& field, auto& e) {
    field("kind", e.kind);
    field("begin_ns", e.begin_ns);
    field("start_ns", e.start_ns);
    field("end_ns", e.end_ns);
    field("cpu_ns", e.cpu_ns);
    field("bytes", e.bytes);
    field("flow", e.flow);
    field("exchange", e.exchange);
    field("pending", e.pending);
    field("train_step", e.place.train_step);
    field("layer", e.place.layer);
    field("direction", e.place.direction);
    field("stage", e.place.stage);
    field("microbatch", e.microbatch);
    field("q_begin", e.q_begin);
    field("q_end", e.q_end);
    field("k_begin", e.k_begin);
    field("k_end", e.k_end);
    field("rank", e.rank);
    field("peer", e.peer);
    field("source_rank", e.source_rank);
    field("group", e.group);
    field("piece", e.piece);
    field("queue", e.queue);
    field("payload", e.payload);
    field("mask", e.mask);
    field("pass", e.pass);
    field("clock", e.clock);
  }
};

/// The times of an event that was recorded before they were known, for example of a GPU's queue.
struct TimesRecord {
  WorldRank rank = WorldRank::of(0);
  std::uint32_t pending = 0;  ///< the event's number, unique per rank
  std::int64_t begin_ns = 0, start_ns = 0, end_ns = 0;
};
template <>
struct Fields<TimesRecord> {
  static void visit(auto&& field, auto& t) {
    field("rank", t.rank);
    field("pending", t.pending);
    field("begin_ns", t.begin_ns);
    field("start_ns", t.start_ns);
    field("end_ns", t.end_ns);
  }
};

}  // namespace ringscope::traces
