// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "engine/train/rank_trainer.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

/// The run as it is carried out, to be checked and then recorded. Nothing here may tell what was
/// injected.
traces::RunSpec describeRun(const TrainConfig& config, const LlamaConfig& model,
                            const BatchSource& batches);

/// What a run that goes on from a checkpoint must have in common with the run that saved it, by the
/// option that decides it; "the data" is a hash, "the model" its configuration. The mesh, the
/// strategy and the balance may change.
std::map<std::string, std::string> lastingSettings(const traces::RunSpec& run,
                                                   const LlamaConfig& model,
                                                   const BatchSource& batches);

}  // namespace ringscope::engine
