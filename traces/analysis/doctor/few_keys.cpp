// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/few_keys.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ringscope::traces {

std::vector<RowKeys> rowsWithFewKeys(const LayerTensors& layer, const AttentionMask& mask,
                                     std::size_t most_keys, std::size_t most_rows) {
  struct Range {
    std::size_t row, first, end;
  };
  std::vector<Range> rows;
  const auto index_of = [&](std::int64_t token) {
    return static_cast<std::size_t>(std::ranges::lower_bound(layer.tokens, TokenIndex::of(token)) -
                                    layer.tokens.begin());
  };
  for (std::size_t row = 0; row < layer.tokens.size(); ++row) {
    const TokenRun keys = mask.keysFor(layer.tokens[row]);
    const Range range{row, index_of(keys.begin), index_of(keys.end)};
    if (range.first < range.end && range.end - range.first <= most_keys) rows.push_back(range);
  }
  std::ranges::stable_sort(rows, {}, [](const Range& range) { return range.end - range.first; });
  if (rows.size() > most_rows) rows.resize(most_rows);
  std::ranges::sort(rows, {}, &Range::row);
  std::vector<RowKeys> few;
  for (const Range& range : rows) {
    few.push_back({range.row, std::vector<std::size_t>(range.end - range.first)});
    std::iota(few.back().keys.begin(), few.back().keys.end(), range.first);
  }
  return few;
}

std::vector<double> computeScores(const LayerTensors& layer, const double* q,
                                  const std::vector<double>& k,
                                  const std::vector<std::size_t>& keys) {
  const auto width = static_cast<std::size_t>(layer.head_dim);
  std::vector<double> scores;
  scores.reserve(keys.size());
  for (const std::size_t key : keys)
    scores.push_back(
        layer.scores.score(std::inner_product(q, q + width, k.data() + key * width, 0.0)));
  return scores;
}

double logSumExp(const std::vector<double>& values) {
  if (values.empty()) return -std::numeric_limits<double>::infinity();
  const double largest = std::ranges::max(values);
  double sum = 0;
  for (const double value : values) sum += std::exp(value - largest);
  return largest + std::log(sum);
}

}  // namespace ringscope::traces
