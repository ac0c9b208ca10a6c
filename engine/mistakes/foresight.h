// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/mistakes/seams.h"
#include "traces/analysis/mistakes/needs/asked_mistake.h"

namespace ringscope::engine {

/// What a rank works on in one training step, as seams make it.
struct RankInputs {
  /// In training tokens, labels, position ids and the positions of cos and sin; in attend the
  /// tokens of each buffer that is cut.
  std::vector<at::Tensor> tensors;
  ShardLayout layout;  ///< of the rank's sequences
  Mask mask;           ///< with their documents
};

/// Computes the inputs of the rank and training step of `at`.
using InputsOfRank = std::function<RankInputs(const SeamPlace& at, const Seams& seams)>;

/// A run whose data was read and whose ranks have not begun: what they would do is worked out from
/// integers, tokens and positions, without any attention.
struct PlannedRun {
  traces::RunSpec run;
  Mesh mesh;
  InputsOfRank inputs;
};

/// Why a mistake would change nothing of the steps from `first_step` on, as the data and the plan
/// of its ranks tell: "--mistake ID changes nothing in any training step, because …; use …".
/// Nothing where it changes something, or where they do not tell. `without` and `with` are the
/// seams before and after the mistake was made.
std::optional<std::string> foreseenReason(const traces::AskedMistake& asked, const Seams& without,
                                          const Seams& with, const PlannedRun& planned,
                                          std::int32_t first_step);

/// Says at the end of a run which watched mistakes changed nothing: "--mistake ID changed nothing,
/// because …; use …".
std::vector<std::string> unseenMistakes(const std::vector<std::pair<std::string, bool>>& watched,
                                        Communicator& ranks);

}  // namespace ringscope::engine
