// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <vector>

#include "traces/analysis/verify/recompute/meant_attention.h"
#include "traces/analysis/verify/stage_reader.h"

namespace ringscope::traces {

/// Computes what each (query, key) pair adds to the gradients of a layer, from the recorded q, k,
/// v, dout, out and lse. The weight is p = exp(scale·q·k − lse), and dS = p·(dout·v − dout·out).
/// Source: Dao 2023, arXiv:2307.08691, algorithm 2.
class StageGradients {
 public:
  explicit StageGradients(const StageSetting& setting);

  /// A query and a key of one selected group, by the rows of q and of k.
  struct Pair {
    std::size_t head = 0;              ///< of the group
    std::size_t query = 0, token = 0;  ///< the query's index in its rank's rows; its token
    std::size_t key = 0;               ///< the key's index in its source's rows
    double weight = 0, of_score = 0;   ///< p, and scale·dS
    const double *q = nullptr, *k = nullptr, *dout = nullptr;  ///< rows of head_dim
  };
  /// Calls visit(const Pair&) for each pair that a rank was to attend of a stage.
  template <typename Visit>
  void visitPairs(const PlannedBlocks::Seat& seat, const StageRecord& stage,
                  const PlannedBlocks::Seat& source, std::size_t group, Visit visit) const {
    const std::int64_t heads = setting.layer.groupSize(),
                       first = setting.selection.groups[group].kv_head * heads,
                       mine = setting.plan.firstHeadAt(seat),
                       end = mine + seat.forward->q_head_end - seat.forward->q_head_begin;
    for (std::int64_t h = 0; h < heads; ++h)
      if (first + h >= mine && first + h < end)
        for (const PieceRecord& piece : stage.pieces)
          for (auto q = static_cast<std::size_t>(piece.q_begin);
               q < std::min(seat.rows.size(), static_cast<std::size_t>(piece.q_end)); ++q)
            visitRow(seat, source, piece, group, static_cast<std::size_t>(h), q, visit);
  }

  const StageSetting& setting;
  const MeantAttention meant;

 private:
  template <typename Visit>
  void visitRow(const PlannedBlocks::Seat& seat, const PlannedBlocks::Seat& source,
                const PieceRecord& piece, std::size_t group, std::size_t head, std::size_t query,
                Visit& visit) const {
    const AttentionInputs& in = meant.inputs();
    const std::size_t width = setting.width(), length = setting.layer.tokens.size(),
                      token = seat.rows[query],
                      row = (group * static_cast<std::size_t>(in.heads) + head) * length + token;
    Pair pair{head, query, token};
    pair.q = &in.q[row * width];
    pair.dout = &in.dout[row * width];
    const double delta = dot(pair.dout, &out_[row * width]);
    const auto last = std::min(source.rows.size(), static_cast<std::size_t>(piece.k_end));
    for (pair.key = static_cast<std::size_t>(piece.k_begin); pair.key < last; ++pair.key) {
      if (!setting.allows(token, source.rows[pair.key])) continue;
      const std::size_t at = (group * length + source.rows[pair.key]) * width;
      pair.k = &in.k[at];
      const double score = in.score(dot(pair.q, pair.k));
      pair.weight = std::exp(score - lse_[row]);
      pair.of_score =
          in.scale * in.slope(score) * pair.weight * (dot(pair.dout, &in.v[at]) - delta);
      visit(static_cast<const Pair&>(pair));
    }
  }

  double dot(const double* a, const double* b) const {
    double sum = 0;
    for (std::size_t d = 0; d < setting.width(); ++d) sum += a[d] * b[d];
    return sum;
  }

  std::vector<double> out_, lse_;
};

/// Looks for the one ring step that explains a rank's wrong dq, and adds it to `wrong`. Its part is
/// taken as many times as fits best. It explains dq if dq is within rounding then, and no other
/// ring step achieves that.
void findDqPart(const StageGradients& gradients, std::vector<WrongStage>& wrong);

}  // namespace ringscope::traces
