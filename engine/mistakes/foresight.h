// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/mistakes/seams.h"
#include "traces/analysis/mistakes/needs/asked_mistake.h"

namespace ringscope::engine {

/// The inputs of one rank in one training step, as the seams make them.
struct RankInputs {
  /// In training: tokens, labels, position ids and the positions of cos and sin. In attend: the
  /// tokens of each buffer that is cut.
  std::vector<at::Tensor> tensors;
  ShardLayout layout;  ///< of the rank's sequences
  Mask mask;           ///< with their documents
};

/// Computes the inputs of the rank and training step of `at`.
using InputsOfRank = std::function<RankInputs(const SeamPlace& at, const Seams& seams)>;

/// A run whose data was read and whose ranks have not begun. The plan of its ranks is computed from
/// integers, tokens and positions, without any attention.
struct PlannedRun {
  traces::RunSpec run;
  Mesh mesh;
  InputsOfRank inputs;
};

/// Returns why a mistake would change nothing in the steps from `first_step` on, by the data and
/// the plan of the ranks: "--mistake ID changes nothing in any training step, because …; use …".
/// Returns nullopt when the mistake changes something, or when data and plan do not show it.
/// `without` and `with` are the seams before and after the mistake was made.
std::optional<std::string> foreseenReason(const traces::AskedMistake& asked, const Seams& without,
                                          const Seams& with, const PlannedRun& planned,
                                          std::int32_t first_step);

/// Returns a sentence for each watched mistake that changed nothing in the run: "--mistake ID
/// changed nothing, because …; use …".
std::vector<std::string> unseenMistakes(const std::vector<std::pair<std::string, bool>>& watched,
                                        Communicator& ranks);

}  // namespace ringscope::engine
