// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/analysis/clock/prediction.h"
#include "traces/plan/balance_choices.h"

namespace ringscope::traces {

/// One layer with one strategy, forward and backward, summed over the packed sequences.
struct LayerPrediction {
  RunSpec run;
  double layer_ns = 0;                 ///< until the last rank has ended
  CommunicationFigures communication;  ///< of all ranks
};

/// The packed documents under one balance.
struct ComparedBalance {
  BalanceChoice choice;
  std::int64_t tokens = 0;   ///< with padding, of all sequences
  std::int64_t padding = 0;  ///< padding tokens
  /// The sums over the sequences. Ranks wait for each other in each sequence.
  PairShares pairs;
  std::vector<LayerPrediction> layers;  ///< ring, then all_gather; a single rank has a ring alone

  /// Returns the pairs of the rank that attends most ÷ the mean of the ranks.
  double imbalance() const;
  /// Returns the same for a ring whose ranks wait for each other at each ring step.
  double stepImbalance() const;
  const LayerPrediction& quickest() const;
};

/// Deals the documents of each sequence by each choice to `run.cp` ranks, and predicts a layer of
/// the model. `sequences` has the lengths of the documents of each packed sequence. Returns the
/// balance with the quickest layer first. Throws usageError for a run that is refused.
std::vector<ComparedBalance> compareBalances(
    const std::vector<BalanceChoice>& choices,
    const std::vector<std::vector<std::int64_t>>& sequences, const RunSpec& run,
    const ModelSizes& sizes, const DeviceSpeed& device, const Hardware& hardware);

/// Returns which balances have the quickest layer, as far as the model can tell.
Quickest quickestBalances(const std::vector<ComparedBalance>& all);

}  // namespace ringscope::traces
