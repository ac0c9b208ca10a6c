// SPDX-License-Identifier: Apache-2.0
// Mistakes in the results of blocks and in how they are merged.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/kernels/sinks.h"
#include "engine/mistakes/seams.h"

namespace ringscope::engine {
namespace {

void sumBlocks(const SeamPlace&, RunningResult& running, const AttentionResult& block,
               std::int64_t q_begin) {
  const std::int64_t rows = block.lse.size(2);
  running.out.slice(2, q_begin, q_begin + rows).add_(block.out);
  at::Tensor lse = running.lse.slice(2, q_begin, q_begin + rows);
  lse.copy_(at::logaddexp(lse, block.lse));
}

/// Reports whether an exponential overflowed, or vanished although its block has keys.
bool mergeByPlainExponentials(RunningResult& running, const AttentionResult& block,
                              std::int64_t q_begin) {
  const std::int64_t q_end = q_begin + block.lse.size(2);
  const at::Tensor out = running.out.slice(2, q_begin, q_end),
                   lse = running.lse.slice(2, q_begin, q_end);
  const at::Tensor kept = lse.exp(), added = block.lse.exp(), sum = kept + added;
  out.mul_((kept / sum).unsqueeze(-1)).add_((added / sum).unsqueeze(-1) * block.out);
  const auto lost = [](const at::Tensor& logarithm, const at::Tensor& exponential) {
    return at::logical_and(at::isfinite(logarithm),
                           at::logical_or(exponential == 0, at::isinf(exponential)))
        .any()
        .item<bool>();
  };
  const bool is_undefined =
      at::logical_or(sum == 0, at::logical_not(at::isfinite(sum))).any().item<bool>();
  const bool any = is_undefined || lost(lse, kept) || lost(block.lse, added);
  lse.copy_(sum.log());
  return any;
}

/// Returns which of a block's rows have a key in its pieces: [rows], true or false.
at::Tensor rowsWithKeys(const std::vector<Piece>& pieces, const at::Tensor& lse) {
  at::Tensor has_key = at::zeros({lse.size(2)}, lse.options().dtype(at::kBool));
  for (const Piece& piece : pieces) {
    const bool is_band = piece.mask == traces::PieceMask::kTileMask;
    const std::int64_t first = is_band ? piece.k_begin - piece.band_high : piece.q_begin,
                       end = is_band ? piece.k_end - piece.band_low : piece.q_end;
    has_key.slice(0, std::max(piece.q_begin, first), std::min(piece.q_end, end)).fill_(true);
  }
  return has_key;
}

/// Adds exp(sink) of each head to the denominator of some rows. Returns whether any row changed.
bool addToRows(RunningResult& running, const at::Tensor& sinks, const at::Tensor& rows) {
  if (!rows.any().item<bool>()) return false;
  RunningResult sunk = running;
  applySinks(sunk, sinks);
  const at::Tensor of_rows = rows.view({1, 1, -1});
  running.out = at::where(of_rows.unsqueeze(-1), sunk.out, running.out);
  running.lse = at::where(of_rows, sunk.lse, running.lse);
  return true;
}

}  // namespace

/// The outs of the blocks are added as they are, A_i = Σ_j A_ij, without their log-sum-exp weights.
void injectNaiveSumMerge(Seams& seams) {
  seams.attention.merge = sumBlocks;
}

/// lse' = log(exp(lse) + exp(block_lse)) without taking out the larger one first: exp overflows in
/// fp32 beyond 88, and gives 0 below −103.
void injectLseOverflow(Seams& seams) {
  const auto changed = watchedFlag(seams, "lse_overflow");
  seams.attention.merge = [changed](const SeamPlace&, RunningResult& running,
                                    const AttentionResult& block, std::int64_t q_begin) {
    if (mergeByPlainExponentials(running, block, q_begin)) *changed = true;
  };
}

/// The running out and lse are kept in bf16 from one block to the next.
void injectLseLowPrecision(Seams& seams) {
  extend(seams.attention.running, [](const SeamPlace&, RunningResult& running) {
    for (at::Tensor* kept : {&running.out, &running.lse})
      *kept = kept->to(at::kBFloat16).to(kept->scalar_type());
  });
}

/// A kernel gives its lse as a logarithm to base 2, and the merge takes it for a natural one.
void injectLseBase2(Seams& seams) {
  extend(seams.attention.block, [](const SeamPlace&, const Piece&, AttentionResult& block) {
    block.lse = block.lse / std::log(2.0);
  });
}

/// A rank's attention to its own block gives one NaN.
void injectNanFromOneRank(Seams& seams) {
  extend(seams.attention.block, [](const SeamPlace& at, const Piece&, AttentionResult& block) {
    if (at.source_rank == at.cpRank())
      block.out[0][0][0].fill_(std::numeric_limits<double>::quiet_NaN());
  });
}

/// The merged result is taken as it is, without the layer's sinks.
void injectSinksDropped(Seams& seams) {
  extend(seams.attention.sinks, [](const SeamPlace&, at::Tensor& sinks) { sinks = at::Tensor(); });
}

/// Every block's softmax has the sinks, so that a row counts them once per block with keys for it.
void injectSinksOnEveryBlock(Seams& seams) {
  extend(seams.attention.stage, [](const SeamPlace&, const std::vector<Piece>& pieces,
                                   const at::Tensor& sinks, RunningResult& running) {
    if (sinks.defined()) addToRows(running, sinks, rowsWithKeys(pieces, running.lse));
  });
  injectSinksDropped(seams);
}

/// Each rank takes the layer's first sinks, whichever heads it attends.
void injectSinksNotCutByHeads(Seams& seams) {
  extend(seams.attention.first_sink, [](const SeamPlace&, std::int64_t& first) { first = 0; });
}

/// A block without a key for a row is merged with out 0 and an lse of 0 instead of −∞.
void injectNeutralElementWrong(Seams& seams) {
  const auto changed = watchedFlag(seams, "neutral_element_wrong");
  extend(seams.attention.stage, [changed](const SeamPlace&, const std::vector<Piece>& pieces,
                                          const at::Tensor&, RunningResult& running) {
    const at::Tensor zeros = at::zeros({running.lse.size(1)}, running.lse.options());
    if (addToRows(running, zeros, rowsWithKeys(pieces, running.lse).logical_not())) *changed = true;
  });
}

}  // namespace ringscope::engine
