// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/attention.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// One pass through one layer's attention, forward and backward.
struct LayerPass {
  std::int32_t train_step = 0;
  Layer layer;
  std::int32_t microbatch = 0;
  friend bool operator==(const LayerPass&, const LayerPass&) = default;
};

/// The passes of which a rank recorded q or out.
struct RecordedLayers {
  std::vector<LayerPass> with_values;  ///< in the order of recording
  std::int64_t without_values = 0;     ///< of which hashes and statistics alone were kept
};
RecordedLayers recordedLayers(const Trace& trace);

/// What attention takes, and FP8 rounds.
inline constexpr TensorKind kAttended[] = {TensorKind::kQ, TensorKind::kK, TensorKind::kV};

/// k, v, dk and dv have rows of keys and KV heads, the others of queries and query heads.
bool isOfKeys(TensorKind kind);

/// What one rank recorded of one tensor: [batch, heads, tokens, head_dim], or without the last for
/// lse.
struct RankTensor {
  WorldRank rank;
  const TensorRecord* record = nullptr;
  std::vector<std::size_t> tokens;  ///< of each of its rows, as indices into the layer's tokens
  std::vector<std::int64_t> heads;  ///< of each of its heads, among the layer's
};

/// Some of a layer's rows: those of a (batch entry, KV head) and the query heads that share it.
struct HeadGroup {
  std::int64_t batch = 0, kv_head = 0;
};
struct Selection {
  std::vector<HeadGroup> groups;
  std::vector<std::size_t> rows;  ///< ascending indices into the layer's tokens; of queries only
};

/// Values of a tensor in the rows of a Selection, [groups, heads of the group, rows, width]; for K,
/// V, dk and dv [groups, 1, tokens, width]. Q, K and V are as they were multiplied: where the run
/// rounds them to FP8, so are these.
struct GatheredRows {
  std::vector<double> values;
  std::vector<WorldRank> ranks;  ///< who recorded each row; none: nobody, and its values are 0
};

/// Where the recorded q, k, v, out, lse, dout, dq, dk and dv of one layer are, over the ranks that
/// share the sequence, whatever the strategy: a rank's tensor is of its own tokens and of all
/// heads, or, where that does not fit, of the tokens and heads that its schedule names. Nothing is
/// loaded. Pointers are into the trace.
struct LayerTensors {
  LayerPass pass;
  std::int64_t batch = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::vector<TokenIndex> tokens;  ///< ascending
  std::vector<WorldRank> owners;   ///< of each token, by q
  std::map<TensorKind, std::vector<RankTensor>> tensors;
  const TensorRecord* sinks = nullptr;  ///< [heads], alike on all ranks; null: there are none
  /// What hinders: "q of ranks 1, 3 has no values; --capture values:steps=0 keeps them". Those of
  /// `blocking` hinder any recomputation.
  std::vector<std::string> blocking, missing;

  bool complete(TensorKind kind) const;
  std::int64_t groupSize() const { return heads / kv_heads; }

  /// Values of these rows. Throws inputError when they are damaged.
  GatheredRows values(const Trace& trace, TensorKind kind, const Selection& selection) const;

  std::size_t ranks = 0;  ///< that share the sequence
};

/// `members`: the ranks that share the sequence.
LayerTensors findLayer(const Trace& trace, const LayerPass& pass,
                       const std::vector<WorldRank>& members);

}  // namespace ringscope::traces
