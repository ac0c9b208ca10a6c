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
  std::int64_t without_values = 0;     ///< number of passes of which only hashes and statistics
                                       ///< were kept
};
RecordedLayers recordedLayers(const Trace& trace);

/// The inputs of attention, which FP8 rounds.
inline constexpr TensorKind kAttended[] = {TensorKind::kQ, TensorKind::kK, TensorKind::kV};

/// Reports whether a tensor has rows of keys and KV heads (k, v, dk, dv). The others have rows of
/// queries and query heads.
bool isOfKeys(TensorKind kind);

/// One rank's part of one tensor: [batch, heads, tokens, head_dim], for lse without head_dim.
struct RankTensor {
  WorldRank rank;
  const TensorRecord* record = nullptr;
  std::vector<std::size_t> tokens;  ///< token of each of its rows, as an index into the layer's
                                    ///< tokens
  std::vector<std::int64_t> heads;  ///< index of each of its heads among the layer's heads
};

/// A batch entry, a KV head, and the query heads that share it: the unit by which rows of a layer
/// are selected.
struct HeadGroup {
  std::int64_t batch = 0, kv_head = 0;
};
struct Selection {
  std::vector<HeadGroup> groups;
  std::vector<std::size_t> rows;  ///< ascending indices into the layer's tokens; for queries only
};

/// The values of a tensor in the rows of a Selection: [groups, heads of the group, rows, width];
/// for K, V, dk and dv [groups, 1, tokens, width]. If the run rounds Q, K and V to FP8, they are
/// rounded here too.
struct GatheredRows {
  std::vector<double> values;
  std::vector<WorldRank> ranks;  ///< rank that recorded each row; none: not recorded, and the
                                 ///< values are 0
};

/// The location of the recorded q, k, v, out, lse, dout, dq, dk and dv of one layer over the ranks
/// that share the sequence, for every strategy. A rank's tensor has the rank's own tokens and all
/// heads, or the tokens and heads that its schedule names. No values are loaded. Pointers are into
/// the trace.
struct LayerTensors {
  LayerPass pass;
  std::int64_t batch = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::vector<TokenIndex> tokens;  ///< ascending
  std::vector<WorldRank> owners;   ///< owner of each token, from q
  std::map<TensorKind, std::vector<RankTensor>> tensors;
  const TensorRecord* sinks = nullptr;  ///< [heads], equal on all ranks; null: no sinks
  /// How scores are made, as stated_scores.h knows it, or as fitted_attention.h infers it.
  ScoreRule scores;
  std::vector<double> fitted_sinks;  ///< [heads], of fitted_attention.h; empty: none were inferred
  /// Sentences about missing values: "q of ranks 1, 3 has no values; --capture values:steps=0 keeps
  /// them". A sentence in `blocking` prevents any recomputation.
  std::vector<std::string> blocking, missing;

  bool complete(TensorKind kind) const;
  std::int64_t groupSize() const { return heads / kv_heads; }

  /// Returns the values of these rows. Throws inputError when they are damaged.
  GatheredRows values(const Trace& trace, TensorKind kind, const Selection& selection) const;

  std::size_t ranks = 0;  ///< number of ranks that share the sequence
};

/// Finds the tensors of a layer. `members` are the ranks that share the sequence.
LayerTensors findLayer(const Trace& trace, const LayerPass& pass,
                       const std::vector<WorldRank>& members);

}  // namespace ringscope::traces
