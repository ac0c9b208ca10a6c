// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Thrown where a tensor of a training step is not there; `why` begins with "needs".
struct MissingTensor {
  std::string why;
  bool recorded = false;  ///< no capture would keep more
};

/// The only tensor of its name there, and its values, all of them finite.
struct LoadedTensor {
  const TensorRecord* record = nullptr;
  std::vector<double> values;
};
/// Throws MissingTensor, and inputError when values are damaged.
LoadedTensor loadTensor(const Trace& trace, const TensorName& tensor, const Place& place,
                        WorldRank rank);

/// Where gradients after the sync and weights after the step are recorded.
Place afterLayers(std::int32_t train_step);

/// The members of a rank's tp group; itself where there is none.
std::vector<WorldRank> tpRanks(const Trace& trace, WorldRank rank);

/// The first rank of each tp group among those that have tokens of their own, ascending.
std::vector<WorldRank> tokenOwners(const Trace& trace);

/// The weight that the forward pass of this step used: as the step before left it, or, in the
/// first step of this program's own training, with the first step of AdamW undone, which moves
/// each weight by lr against its gradient's sign. `gradient`: its own, by which its shape is told.
/// Throws as loadTensor() does.
std::vector<double> weightBefore(const Trace& trace, const std::string& parameter,
                                 std::int32_t train_step, WorldRank rank,
                                 const std::vector<double>& gradient);

}  // namespace ringscope::traces
