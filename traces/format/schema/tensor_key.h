// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "traces/format/schema/fields.h"
#include "traces/format/schema/place.h"

namespace ringscope::traces {

/// What a recorded tensor is. Values are serialized: append, never renumber.
enum class TensorKind : std::uint8_t {
  kOther = 0,  ///< named by `name` alone
  kQ,          ///< of a layer's attention, as the model has it: [B, Hq, S_local, D]
  kK,
  kV,
  kOut,
  kLse,  ///< [B, Hq, S_local], natural logarithm
  kDout,
  kDq,
  kDk,
  kDv,
  kKv,        ///< the KV block held at a ring step: [2, B, Hkv, S, D]
  kDkv,       ///< dK and dV of that block so far
  kBlockOut,  ///< of one piece of a stage
  kBlockLse,
  kRunningLse,   ///< after a stage's merges
  kPositionIds,  ///< as the model used them
  kCos,
  kSin,
  kLogits,
  kBuffer,    ///< a buffer after sharding; `name` is the buffer's
  kGradient,  ///< of a parameter after the sync; `name` is the parameter's
  kWeight,    ///< of a parameter after the step
  kSinks,     ///< logits of a layer's attention sinks as forward had them: [Hq]
  kCount
};
template <>
struct EnumNames<TensorKind> {
  static constexpr const char* kWhat = "tensor";
  static constexpr std::array<const char*, 23> kNames = {
      "other", "q",   "k",      "v",      "out",       "lse",       "dout",        "dq",
      "dk",    "dv",  "kv",     "dkv",    "block_out", "block_lse", "running_lse", "position_ids",
      "cos",   "sin", "logits", "buffer", "grad",      "weight",    "sinks"};
};

/// What a tensor is called: its kind, and for buffers, parameters and others a name.
struct TensorName {
  TensorKind kind = TensorKind::kOther;
  std::string name;  ///< of a buffer, a parameter or something else; empty for all other kinds

  /// "q", "buffer.labels", "grad.lm_head.weight"
  std::string text() const;
  /// The inverse; what is not known is kOther.
  static TensorName of(std::string_view text);
  friend bool operator==(const TensorName&, const TensorName&) = default;
};

/// The identity of one recorded tensor: no two of a trace are equal.
struct TensorKey {
  TensorName tensor;
  Place place;
  std::int32_t microbatch = 0;
  Pass pass = Pass::kForward;
  WorldRank rank = WorldRank::of(0);
  WorldRank source_rank;  ///< whose KV block it is, or was computed from; none: the layer's own
  PieceIndex piece;       ///< of the stage's work on that block; none: not of one piece

  friend bool operator==(const TensorKey&, const TensorKey&) = default;
};

/// A total order in which the ranks' places come first, for indices.
bool keyBefore(const TensorKey& a, const TensorKey& b);

/// "block_out of rank 2, step 0 › layer 1 › forward › ring step 2, from rank 0, piece 1"
std::string describe(const TensorKey& key);

/// Whether −inf is a right value: of a row that has no key.
bool mayBeInfinite(TensorKind kind);

template <>
struct Fields<Place> {
  static void visit(auto&& field, auto& p) {
    field("train_step", p.train_step);
    field("layer", p.layer);
    field("direction", p.direction);
    field("stage", p.stage);
  }
};
template <>
struct Fields<TensorKey> {
  static void visit(auto&& field, auto& k) {
    field("tensor", k.tensor.kind);
    field("name", k.tensor.name);
    field("place", k.place);
    field("microbatch", k.microbatch);
    field("pass", k.pass);
    field("rank", k.rank);
    field("source_rank", k.source_rank);
    field("piece", k.piece);
  }
};

}  // namespace ringscope::traces
