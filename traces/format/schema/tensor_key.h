// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "traces/format/schema/fields.h"
#include "traces/format/schema/place.h"

namespace ringscope::traces {

/// The kind of a recorded tensor. Values are serialized: append, never renumber.
enum class TensorKind : std::uint8_t {
  kOther = 0,  ///< identified by `name` alone
  kQ,          ///< query of a layer's attention, as the model has it: [B, Hq, S_local, D]
  kK,
  kV,
  kOut,
  kLse,  ///< [B, Hq, S_local], natural logarithm
  kDout,
  kDq,
  kDk,
  kDv,
  kKv,        ///< KV block held at a ring step: [2, B, Hkv, S, D]
  kDkv,       ///< dK and dV of that block, summed so far
  kBlockOut,  ///< result of one piece of a stage
  kBlockLse,
  kRunningLse,   ///< lse after a stage's merges
  kPositionIds,  ///< position ids that the model used
  kCos,
  kSin,
  kLogits,
  kBuffer,    ///< a buffer after sharding; `name` is the buffer's name
  kGradient,  ///< gradient of a parameter after the sync; `name` is the parameter's name
  kWeight,    ///< a parameter after the optimizer step; `name` is the parameter's name
  kSinks,     ///< logits of a layer's attention sinks in forward: [Hq]
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

/// The name of a tensor: its kind and, for buffers, parameters and other tensors, a name.
struct TensorName {
  TensorKind kind = TensorKind::kOther;
  std::string name;  ///< name of a buffer, a parameter or another tensor; empty for all other kinds

  /// Returns the name as text: "q", "buffer.labels", "grad.lm_head.weight".
  std::string text() const;
  /// Parses the result of text(). An unknown name gives kOther.
  static TensorName of(std::string_view text);
  friend bool operator==(const TensorName&, const TensorName&) = default;
};

/// The identity of one recorded tensor. No two tensors of a trace have equal keys.
struct TensorKey {
  TensorName tensor;
  Place place;
  std::int32_t microbatch = 0;
  Pass pass = Pass::kForward;
  WorldRank rank = WorldRank::of(0);
  WorldRank source_rank;  ///< source of the KV block that the tensor is or was computed from; none:
                          ///< the layer's own tensor
  PieceIndex piece;       ///< piece of the stage's work on that block; none: not of a single piece

  friend bool operator==(const TensorKey&, const TensorKey&) = default;
};

/// Orders keys for indices: a total order that compares place, rank and kind first.
bool keyBefore(const TensorKey& a, const TensorKey& b);

/// Describes a key: "block_out of rank 2, step 0 › layer 1 › forward › ring step 2, from rank 0,
/// piece 1".
std::string describe(const TensorKey& key);

/// Reports whether −inf is a correct value, namely for a row that has no key.
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
