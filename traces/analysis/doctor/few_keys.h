// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/analysis/verify/recompute/gather.h"
#include "traces/analysis/verify/recompute/mask.h"

namespace ringscope::traces {

/// A query row and the keys that the mask has for it, as indices into the layer's tokens.
struct RowKeys {
  std::size_t row = 0;
  std::vector<std::size_t> keys;
};

/// The rows with the fewest keys, at least one and at most `most_keys`, ascending by row; at most
/// `most_rows` of them. Few keys tell most of each.
std::vector<RowKeys> rowsWithFewKeys(const LayerTensors& layer, const AttentionMask& mask,
                                     std::size_t most_keys, std::size_t most_rows);

/// Returns the scores of one row of a layer.
std::vector<double> computeScores(const LayerTensors& layer, const double* q,
                                  const std::vector<double>& k,
                                  const std::vector<std::size_t>& keys);

/// Returns log Σ exp(value); −∞ without values.
double logSumExp(const std::vector<double>& values);

}  // namespace ringscope::traces
