// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/plan.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

/// The settings of a training run, and settings that concern only this process.
struct TrainConfig : traces::RunSpec {
  std::vector<std::string> mistakes;
  std::string checkpoint_dir;  ///< folder for a checkpoint at the end; empty: none
  int checkpoint_every = 0;    ///< also save after this many steps
  bool resume = false;         ///< resume from the newest checkpoint
  std::chrono::milliseconds timeout{60'000};

  Mesh mesh() const { return {dp, tp, cp}; }
  /// Reports whether attention ends at the borders of packed documents.
  bool keepsDocuments() const { return mask == traces::MaskKind::kDocuments; }
  /// Reports whether this process is one rank of several, as torchrun sets it up.
  bool fromEnvironment() const { return launch == traces::Launch::kEnv; }
};

/// One line of the training log.
struct StepLog {
  std::int32_t step = 0;
  double loss = 0;
  double grad_norm = 0;         ///< before clipping
  double clip_coefficient = 1;  ///< factor by which the first rank's gradients were multiplied
  std::int64_t targets = 0;
  double seconds = 0;  ///< wall time of the step without verification
  /// Per rank, the most memory held at once since the run began that the training step needs.
  std::vector<std::int64_t> peak_bytes;
  /// The same including verification and captured copies.
  std::vector<std::int64_t> peak_bytes_with_verification;

  nlohmann::json toJson() const;
};

}  // namespace ringscope::engine
