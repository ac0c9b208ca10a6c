// SPDX-License-Identifier: Apache-2.0
//
// A matrix product adds up to kLongestRun terms to the same number, and then adds that number to
// the rest. Measured on the operator: if all weights are equal, the error grows like √n up to 384
// keys and is smaller for 512, which are cut in two.
//
// Suppose that n terms in a random order have the sum s, and squares with the sum Q. Then the
// partial sum of k terms has the expected square (k/n)²|s|² + (k/n)(1 − k/n)Q (a Brownian bridge).
// The sums of both factors over k are n/3 and n/6.
#include "traces/analysis/verify/rounding/running_sums.h"

#include <algorithm>
#include <vector>

#include "traces/plan/cpu_kernel.h"

namespace ringscope::traces {
namespace {

struct Partial {
  double share = 0, terms = 0;
  std::int64_t added = 0;

  void add(double factor, double squares, RunningSums& sums) {
    share += factor;
    terms += squares;
    ++added;
    sums.squares += share * share;
    sums.terms += terms;
  }
};

struct Block {
  Partial run, rest;

  /// Adds the run to the rest. The first run of a block is no addition.
  void endRun(RunningSums& sums) {
    if (rest.added == 0) {
      rest = run;
    } else {
      rest.add(run.share, run.terms, sums);
    }
    run = Partial();
  }
};

}  // namespace

RunningSums sumTerms(const MergedBlocks& blocks, std::size_t first_key,
                     std::span<const double> factors, const double* squares) {
  RunningSums sums;
  std::vector<Block> all(blocks.blocks);
  for (std::size_t j = 0; j < factors.size(); ++j) {
    Block& block = all[blocks.blocks == 1 ? 0 : blocks.block_of_key[first_key + j]];
    const double factor = factors[j];
    if (block.run.added == kLongestRun) block.endRun(sums);
    block.run.add(factor, factor * factor * squares[j], sums);
    sums.total += factor;
  }
  for (Block& block : all)
    if (block.rest.added > 0) block.endRun(sums);
  return sums;
}

RunningGrowth runningGrowth(double terms, double longest) {
  const double run = std::min(terms, longest), runs = terms / std::max(1.0, run);
  const double more_runs = runs > 1 ? runs : 0;
  return {run / (3 * std::max(1.0, runs)) + more_runs / 3, (run + more_runs) / 6};
}

}  // namespace ringscope::traces
