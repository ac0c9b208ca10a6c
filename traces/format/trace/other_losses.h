// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

// Losses of a recorded PyTorch job beside the cross entropy of its training steps.

/// A cross entropy that backward does not reach: an evaluation.
struct EvaluatedLoss {
  double sum = 0;
  std::int64_t targets = 0;
};

/// A loss that is added to the cross entropy, such as the load-balancing loss of a router.
struct AuxiliaryLoss {
  std::int32_t microbatch = 0;
  double weight = 0;    ///< what it is meant to count in the loss of the training step
  double gradient = 0;  ///< what backward brought to it on this rank
  bool part = false;    ///< the losses of all ranks are parts of one
};

/// Returns the losses of a rank in a training step, in order; empty when there are none. An
/// evaluation between two steps belongs to the later one.
std::vector<EvaluatedLoss> evaluatedLosses(const Trace& trace, std::int32_t train_step,
                                           WorldRank rank);
std::vector<AuxiliaryLoss> auxiliaryLosses(const Trace& trace, std::int32_t train_step,
                                           WorldRank rank);

/// The keys of the notes with the losses of a training step: {"RANK": [loss, …]}.
std::string evaluatedLossesKey(std::int32_t train_step);
std::string auxiliaryLossesKey(std::int32_t train_step);
nlohmann::json toJson(const EvaluatedLoss& loss);
nlohmann::json toJson(const AuxiliaryLoss& loss);

}  // namespace ringscope::traces
