// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Tensors of which dp × cp ranks hold the same slice, and whether they hold the same bits.
struct ReplicaDrift {
  int parameters = 0;
  int differing = 0;
  const TensorRecord* first = nullptr;  ///< the first that is unlike the group's first rank's
  WorldRank like;              ///< the group's first rank, with which the others are compared
  std::vector<WorldRank> odd;  ///< who is unlike most of the group in it; empty: a tie
  std::int64_t unnamed = 0;    ///< tensors that were not compared, because they have no name
  /// All of them differ, and none within a cp group. Local SGD averages weights in later steps.
  bool between_replicas = false;
  double ratio = 1;  ///< largest against smallest abs_max of one parameter
};

/// Leaves out parameters that ranks do not hold as replicas (own_parameters.h).
/// Over the first training step in which anything differs, or all when nothing does. `kind`:
/// gradients after their sync, or weights after the update.
ReplicaDrift readDrift(const Trace& trace, TensorKind kind);

/// Reports whether the weights after the update are the same on all ranks, although gradients
/// before it differ. Then the optimizer sums gradients within its step, as ZeRO does.
bool areSummedInUpdate(const Trace& trace, const ReplicaDrift& gradients);

}  // namespace ringscope::traces
