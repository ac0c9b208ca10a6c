// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The exception for a missing tensor of a training step; `why` begins with "needs".
struct MissingTensor {
  std::string why;
  bool recorded = false;  ///< true: no capture would keep more
};

/// A recorded tensor, the only one of its name at its place, with finite values.
struct LoadedTensor {
  const TensorRecord* record = nullptr;
  std::vector<double> values;
};
/// Loads a tensor. Throws MissingTensor, and inputError when values are damaged.
LoadedTensor loadTensor(const Trace& trace, const TensorName& tensor, const Place& place,
                        WorldRank rank);

/// Returns the place of gradients after the sync and of weights after the step.
Place afterLayers(std::int32_t train_step);

/// Returns the members of a rank's tp group; only the rank itself when there is none.
std::vector<WorldRank> tpRanks(const Trace& trace, WorldRank rank);

/// Returns the first rank of each tp group among the ranks that have tokens of their own,
/// ascending.
std::vector<WorldRank> tokenOwners(const Trace& trace);

/// Returns the weight that the forward pass of this step used. It is the weight after the step
/// before. In the first step of this program's own training, it is the weight after the step with
/// AdamW's first update undone. That update moves each weight by lr against its gradient's sign.
/// The argument `gradient` is the parameter's gradient and gives its shape. Throws as loadTensor()
/// does.
std::vector<double> weightBefore(const Trace& trace, const std::string& parameter,
                                 std::int32_t train_step, WorldRank rank,
                                 const std::vector<double>& gradient);

}  // namespace ringscope::traces
