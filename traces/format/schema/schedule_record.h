// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "traces/format/schema/event.h"
#include "traces/format/schema/fields.h"
#include "traces/format/schema/place.h"

namespace ringscope::traces {

/// A run of `count` tokens at global indices begin, begin + stride, …; they are consecutive in
/// local order. The members are plain integers for the same reason as in TokenRun.
struct ShardRun {
  std::int64_t begin = 0, count = 0, stride = 1;
  std::int64_t global(std::int64_t i) const { return begin + i * stride; }
  friend bool operator==(const ShardRun&, const ShardRun&) = default;
};

/// A rectangle of one (query shard, KV block) pair that is attended in one call: local query rows
/// [q_begin, q_end) against local key rows [k_begin, k_end).
struct PieceRecord {
  std::int64_t q_begin = 0, q_end = 0, k_begin = 0, k_end = 0;
  PieceMask mask = PieceMask::kFull;
  std::int64_t band_low = 0, band_high = 0;  ///< kTileMask only: smallest and largest key − query,
                                             ///< both included
  friend bool operator==(const PieceRecord&, const PieceRecord&) = default;
};

/// The planner's reason why a stage attends nothing. Values are serialized: append, never renumber.
enum class WhyEmpty : std::uint8_t {
  kAttends = 0,     ///< the stage attends something
  kFuture,          ///< every key lies after every query
  kOutOfWindow,     ///< every key that is not in the future has left the window
  kOtherDocument,   ///< the keys in reach belong to other documents or to padding
  kSeveralReasons,  ///< different keys are excluded for different reasons
  kCount
};
template <>
struct EnumNames<WhyEmpty> {
  static constexpr const char* kWhat = "reason to attend nothing";
  static constexpr std::array<const char*, 5> kNames = {"attends", "future", "out_of_window",
                                                        "other_document", "several_reasons"};
};

/// One ring step of one rank: the source of the KV block that the rank holds, and the pieces of the
/// block that it attends.
struct StageRecord {
  RingStep ring_step = RingStep::of(0);
  WorldRank source_rank;
  bool forwards_kv = false;  ///< the block is sent to the next rank while this step is attended
  WhyEmpty why_empty = WhyEmpty::kAttends;
  std::vector<PieceRecord> pieces;
  friend bool operator==(const StageRecord&, const StageRecord&) = default;
};

/// The planner's decision for one rank's attention, in one direction, from one training step on.
/// Layers with another mask have a record of their own; its stages and pieces differ.
/// With Ulysses and hybrid the rank attends some heads of the joined shards of its Ulysses group.
struct ScheduleRecord {
  std::int32_t train_step = 0;  ///< valid until the same rank's next records of this direction
  std::optional<std::int32_t> microbatch;  ///< the only microbatch, of this training step alone,
                                           ///< that the record concerns; nullopt: all microbatches
  Direction direction = Direction::kForward;
  WorldRank rank = WorldRank::of(0);
  std::vector<Layer> layers;       ///< layers concerned; empty: all layers
  std::vector<WorldRank> ring;     ///< ranks between which KV travels, in ring order; one rank: no
                                   ///< ring
  std::vector<WorldRank> ulysses;  ///< ranks that share heads, in the order of their heads; one
                                   ///< rank: not shared
  std::vector<ShardRun> rows;      ///< query rows in local order, as global token indices
  std::int64_t q_head_begin = 0, q_head_end = 0;  ///< the model's query heads that the rank attends
  std::vector<std::int64_t> kv_heads;             ///< the model's KV heads that the rank attends,
                                                  ///< in local order
  std::vector<StageRecord> stages;
  friend bool operator==(const ScheduleRecord&, const ScheduleRecord&) = default;
};

template <>
struct Fields<ShardRun> {
  static void visit(auto&& field, auto& r) {
    field("begin", r.begin);
    field("count", r.count);
    field("stride", r.stride);
  }
};
template <>
struct Fields<PieceRecord> {
  static void visit(auto&& field, auto& p) {
    field("q_begin", p.q_begin);
    field("q_end", p.q_end);
    field("k_begin", p.k_begin);
    field("k_end", p.k_end);
    field("mask", p.mask);
    field("band_low", p.band_low);
    field("band_high", p.band_high);
  }
};
template <>
struct Fields<StageRecord> {
  static void visit(auto&& field, auto& s) {
    field("ring_step", s.ring_step);
    field("source_rank", s.source_rank);
    field("forwards_kv", s.forwards_kv);
    field("why_empty", s.why_empty);
    field("pieces", s.pieces);
  }
};
template <>
struct Fields<ScheduleRecord> {
  static constexpr std::array kAdded = {AddedField{"microbatch", 4}, AddedField{"layers", 4}};
  static void visit(auto&& field, auto& s) {
    field("train_step", s.train_step);
    field("microbatch", s.microbatch);
    field("direction", s.direction);
    field("rank", s.rank);
    field("layers", s.layers);
    field("ring", s.ring);
    field("ulysses", s.ulysses);
    field("rows", s.rows);
    field("q_head_begin", s.q_head_begin);
    field("q_head_end", s.q_head_end);
    field("kv_heads", s.kv_heads);
    field("stages", s.stages);
  }
};

}  // namespace ringscope::traces
