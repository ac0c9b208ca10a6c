// SPDX-License-Identifier: Apache-2.0
// Recorded calls of cross entropy, for recordings that tests write as text.
#pragma once

#include <string>
#include <vector>

#include "traces/format/trace/called_losses.h"

namespace ringscope::test {

inline const std::string kForeign = "note framework \"pytorch\"\n";

/// Returns a call of cross entropy whose targets weigh this much.
inline traces::CalledLoss called(double weight = 0.25, std::int64_t targets = 4) {
  traces::CalledLoss loss;
  loss.targets = targets;
  loss.smoothing = 0;
  loss.weights = traces::CalledLoss::Weights{weight, weight, weight, 1e-8};
  loss.parameter = "lm_head.weight";
  loss.dtype = "float32";
  return loss;
}

/// Returns the note with the losses of a training step, by rank.
inline std::string lossesNote(int step, const std::vector<std::vector<traces::CalledLoss>>& ranks) {
  nlohmann::json note = nlohmann::json::object();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (const traces::CalledLoss& loss : ranks[rank])
      note[std::to_string(rank)].push_back(toJson(loss));
  return "note " + traces::calledLossesKey(step) + " " + note.dump() + "\n";
}

}  // namespace ringscope::test
