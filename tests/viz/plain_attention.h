// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "tests/viz/ring_plan.h"

namespace ringscope::test {

/// The out [heads, rows, D] and lse [heads, rows] of one piece, or of several merged pieces.
struct BlockResult {
  std::int64_t heads = 0, rows = 0, width = 0;
  std::vector<double> out, lse;

  /// Merges a block whose first row is row `q_begin` of `all_rows`.
  void merge(const BlockResult& block, std::int64_t q_begin, std::int64_t all_rows, bool naively) {
    if (lse.empty()) {
      *this = {block.heads, all_rows, block.width, {}, {}};
      lse.assign(static_cast<std::size_t>(heads * rows), -std::numeric_limits<double>::infinity());
      out.assign(lse.size() * static_cast<std::size_t>(width), 0);
    }
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t r = 0; r < block.rows; ++r)
        mergeRow(static_cast<std::size_t>(h * rows + q_begin + r), block,
                 static_cast<std::size_t>(h * block.rows + r), naively);
  }

 private:
  void mergeRow(std::size_t row, const BlockResult& block, std::size_t from, bool naively) {
    if (std::isinf(block.lse[from])) return;  // no key for this row
    const double m = std::max(lse[row], block.lse[from]);
    const double mine = std::exp(lse[row] - m), theirs = std::exp(block.lse[from] - m);
    for (std::size_t d = 0; d < static_cast<std::size_t>(width); ++d) {
      double& value = out[row * static_cast<std::size_t>(width) + d];
      const double other = block.out[from * static_cast<std::size_t>(width) + d];
      value = naively ? value + other : (mine * value + theirs * other) / (mine + theirs);
    }
    lse[row] = m + std::log(mine + theirs);
  }
};

/// Attention in fp64 over q, k and v that are functions of layer, head, token and dimension.
class PlainAttention {
 public:
  explicit PlainAttention(const RingRun& run) : run_(run) {}

  /// Returns the result of a piece. `rows` and `keys` are the tokens of the rank and of the block's
  /// owner, in local order.
  BlockResult block(const RingPlan& plan, traces::Layer layer,
                    const traces::ScheduleRecord& schedule, const std::vector<std::int64_t>& rows,
                    const std::vector<std::int64_t>& keys, const traces::PieceRecord& piece) const {
    BlockResult result;
    result.heads = schedule.q_head_end - schedule.q_head_begin;
    result.rows = piece.q_end - piece.q_begin;
    result.width = run_.head_dim;
    for (std::int64_t head = schedule.q_head_begin; head < schedule.q_head_end; ++head)
      for (std::int64_t q = piece.q_begin; q < piece.q_end; ++q) {
        const std::int64_t query = rows[static_cast<std::size_t>(q)];
        std::vector<double> out(static_cast<std::size_t>(run_.head_dim), 0);
        double sum = 0;
        for (std::int64_t k = piece.k_begin; k < piece.k_end; ++k) {
          const std::int64_t key = keys[static_cast<std::size_t>(k)];
          if (!plan.allowed(query, key)) continue;
          const double weight = std::exp(score(layer, head, query, key));
          sum += weight;
          for (std::size_t d = 0; d < out.size(); ++d)
            out[d] += weight * value(layer, 2, head, key, static_cast<int>(d));
        }
        for (const double v : out) result.out.push_back(sum > 0 ? v / sum : 0);
        result.lse.push_back(std::log(sum));
      }
    return result;
  }

 private:
  double score(traces::Layer layer, std::int64_t head, std::int64_t query, std::int64_t key) const {
    double dot = 0;
    for (int d = 0; d < run_.head_dim; ++d)
      dot += value(layer, 0, head, query, d) * value(layer, 1, head, key, d);
    return dot / std::sqrt(static_cast<double>(run_.head_dim));
  }
  /// Returns a value of q, k or v: between −2 and 2, without smoothness in any argument.
  double value(traces::Layer layer, int which, std::int64_t head, std::int64_t token, int d) const {
    if (which > 0) head = head * run_.kv_heads / run_.heads;
    return 2 * std::sin(1.7 * which + 12.9898 * static_cast<double>(token) +
                        78.233 * static_cast<double>(head) + 37.719 * d + 3.1 * layer.value());
  }

  const RingRun& run_;
};

}  // namespace ringscope::test
