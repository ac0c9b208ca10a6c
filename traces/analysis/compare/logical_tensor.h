// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "traces/analysis/compare/input_rows.h"
#include "traces/analysis/compare/run_comparison.h"
#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {

/// One attention tensor of a layer over all ranks of the mesh, as rows by sequence, head and token.
class LogicalTensor {
 public:
  /// The rows of one (sequence, head), in the order of `tokens`.
  struct Head {
    std::vector<TokenIndex> tokens;  ///< ascending
    std::vector<double> values;      ///< [tokens, width]
    std::vector<WorldRank> ranks;    ///< rank that recorded each row; none: not recorded
  };

  /// Builds the tensor `kind` from `layers`, one per group of ranks that share sequences.
  static LogicalTensor of(const Trace& trace, const std::vector<LayerTensors>& layers,
                          const std::vector<std::vector<WorldRank>>& groups, TensorKind kind);

  /// Builds the tensor of token ids, labels or position ids: one head with one value per row.
  static LogicalTensor of(const InputRows& input);

  /// Compares the rows that both have, and counts the rows that only one of them has.
  TensorDifference against(const LogicalTensor& other) const;
  bool empty() const { return heads_.empty(); }
  std::int64_t width() const { return width_; }
  /// Returns the heads by sequence and head.
  const std::map<std::pair<std::int64_t, std::int64_t>, Head>& heads() const { return heads_; }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, Head> heads_;  ///< by sequence and head
  std::int64_t width_ = 1;
};

/// Returns the rank's coordinate on an axis of the mesh; 0 when it was not recorded.
std::int64_t coordinate(const Trace& trace, WorldRank rank, GroupAxis axis);

}  // namespace ringscope::traces
