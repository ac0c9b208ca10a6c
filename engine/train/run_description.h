// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "engine/kernels/layer_masks.h"
#include "engine/train/rank_trainer.h"
#include "traces/format/recording/recorder.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

/// Returns the run as it is carried out, for checking and recording. It must not show which
/// mistakes were injected.
traces::RunSpec describeRun(const TrainConfig& config, const LlamaConfig& model,
                            const BatchSource& batches);

/// Returns the masks of the model's layers in this run, of sequences that are one document. A
/// window that the user `asked` for holds in all layers; the model's own may hold in some.
LayerMasks layerMasks(const TrainConfig& asked, const LlamaConfig& model,
                      const traces::RunSpec& run);

/// Records how scores and logits are made, if it is not the usual way: the notes kAttentionNote and
/// kLogitsNote.
void recordScoreRules(const LlamaConfig& model, traces::Recorder& recorder);

/// Returns the settings that a resumed run must share with the run that saved the checkpoint, by
/// the option that decides each. "the data" is a hash, and "the model" is its configuration. The
/// mesh, the strategy and the balance may change.
std::map<std::string, std::string> lastingSettings(const traces::RunSpec& run,
                                                   const LlamaConfig& model,
                                                   const BatchSource& batches);

}  // namespace ringscope::engine
