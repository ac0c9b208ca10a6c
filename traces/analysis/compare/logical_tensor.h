// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "traces/analysis/compare/input_rows.h"
#include "traces/analysis/compare/run_comparison.h"
#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {

/// One attention tensor of a layer, of all ranks of the mesh: rows by sequence, head and token.
class LogicalTensor {
 public:
  /// The rows of one (sequence, head), in the order of `tokens`.
  struct Head {
    std::vector<TokenIndex> tokens;  ///< ascending
    std::vector<double> values;      ///< [tokens, width]
    std::vector<WorldRank> ranks;    ///< who recorded each row; none: nobody
  };

  /// Of what `layers` (one for each group that shares sequences) hold of it.
  static LogicalTensor of(const Trace& trace, const std::vector<LayerTensors>& layers,
                          const std::vector<std::vector<WorldRank>>& groups, TensorKind kind);

  /// Of token ids, labels or position ids: one head of rows of one number.
  static LogicalTensor of(const InputRows& input);

  /// Rows of both; what one has alone is counted.
  TensorDifference against(const LogicalTensor& other) const;
  bool empty() const { return heads_.empty(); }
  std::int64_t width() const { return width_; }
  /// By sequence and head.
  const std::map<std::pair<std::int64_t, std::int64_t>, Head>& heads() const { return heads_; }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, Head> heads_;  ///< by sequence and head
  std::int64_t width_ = 1;
};

/// The rank's coordinate on an axis of the mesh; 0 where that was not recorded.
std::int64_t coordinate(const Trace& trace, WorldRank rank, GroupAxis axis);

}  // namespace ringscope::traces
