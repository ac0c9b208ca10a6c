// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/plan.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

/// What a training run is asked to do, and what concerns only the process that does it.
struct TrainConfig : traces::RunSpec {
  std::vector<std::string> mistakes;
  std::string checkpoint_dir;  ///< saved there at the end; empty: nowhere
  int checkpoint_every = 0;    ///< and after every so many steps
  bool resume = false;         ///< go on from the newest checkpoint
  std::chrono::milliseconds timeout{60'000};

  Mesh mesh() const { return {dp, tp, cp}; }
  /// Attention ends at the borders of packed documents.
  bool keepsDocuments() const { return mask == traces::MaskKind::kDocuments; }
  /// This process is one rank, as torchrun sets it.
  bool fromEnvironment() const { return launch == traces::Launch::kEnv; }
};

/// One line of the training log.
struct StepLog {
  std::int32_t step = 0;
  double loss = 0;
  double grad_norm = 0;         ///< before the clip
  double clip_coefficient = 1;  ///< what the clip multiplied the first rank's gradients by
  std::int64_t targets = 0;
  double seconds = 0;  ///< wall time of the step, verification left out
  /// Per rank, the most that it held at once since the run began: what the training step needs.
  std::vector<std::int64_t> peak_bytes;
  /// The same with verification and captured copies counted in.
  std::vector<std::int64_t> peak_bytes_with_verification;

  nlohmann::json toJson() const;
};

}  // namespace ringscope::engine
