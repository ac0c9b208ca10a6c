// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/gradient_norm.h"
#include "traces/analysis/verify/recompute/head_parts.h"
#include "traces/analysis/verify/recompute/label_counts.h"
#include "traces/analysis/verify/recompute/loss.h"

namespace ringscope::traces {

/// The inputs of hypotheses about the numbers of a training step.
struct StepSetting {
  const RunSpec& run;
  std::vector<RankLoss> losses;         ///< of all ranks; empty: not known
  std::optional<GradientNorms> norms;   ///< nothing: not known
  const HeadParts* head = nullptr;      ///< of the gradients; null: not known
  const LabelCounts* labels = nullptr;  ///< null: not known
};

/// The numbers of a training step that a mistake changes, in one of the ways in which it is made.
struct StepValues {
  std::string how{};  ///< tells it from the other ways: "of rank 2"
  std::optional<Rounded> loss{}, grad_norm{};
  std::optional<PartWeights> gradient{};  ///< how the ranks' parts are added
  std::optional<std::int64_t> labels{};   ///< how many recorded ones contradict it
  std::string lacks{};  ///< what is not recorded, without which its gradient cannot be computed
};

/// The numbers of a training step with a mistake in it.
struct StepHypothesis {
  std::string mistake;  ///< an id of the catalogue
  /// Returns none when the mistake can have changed nothing here, or its inputs are not known.
  std::vector<StepValues> (*make)(const StepSetting& setting);
};

/// Returns all hypotheses. A new one is a function in one of this folder's files, and is named in
/// the row of its mistake in traces/analysis/mistakes/catalogue/detection.cpp.
const std::vector<StepHypothesis>& stepHypotheses();

}  // namespace ringscope::traces
