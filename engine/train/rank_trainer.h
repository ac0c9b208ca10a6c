// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention/strategies/registry.h"
#include "engine/data/batch.h"
#include "engine/kernels/layer_masks.h"
#include "engine/model/llama_model.h"
#include "engine/train/adamw.h"
#include "engine/train/checkpoint.h"
#include "engine/train/gradients.h"
#include "engine/train/step_attention.h"
#include "engine/train/train_config.h"
#include "engine/verify/step_verifier.h"
#include "traces/format/schema/intent.h"

namespace ringscope::engine {

/// The state that all ranks of a run share; constant while the run goes on.
struct TrainSetup {
  const TrainConfig& config;
  traces::RunSpec run;  ///< with all defaults filled in
  LlamaConfig model;
  LayerMasks masks;    ///< of sequences that are one document
  ShardLayout layout;  ///< with kPerDocument, of a sequence that is one document
  at::ScalarType type;
  const BatchSource& batches;
  std::map<std::string, std::string> lasting;  ///< the part of lastingSettings() that a checkpoint
                                               ///< keeps
};

/// One rank's part of a training run: forward, backward, gradient sync, clip and update. Belongs to
/// its rank's thread.
class RankTrainer {
 public:
  /// Copies the weights into its own replica. All references must outlive the trainer.
  RankTrainer(RankContext& context, const TrainSetup& setup, const LlamaWeights& initial);

  struct Result {
    double loss = 0;  ///< sum over the targets of all ranks, divided by their number
    std::int64_t targets = 0;
    at::Tensor logits;  ///< [B / dp, S_local, vocab / tp]
  };
  /// Runs forward, backward and gradient sync. gradients() then returns those of the whole batch.
  Result computeGradients(std::int32_t train_step);
  const Gradients& gradients() const { return gradients_; }
  /// Returns the data that the verifier compares for the last step. The tensors are not copied;
  /// update() changes them.
  RankStep report(const Result& result) const;
  struct Clipped {
    double norm = 0;         ///< of the gradients of all ranks, before clipping
    double coefficient = 1;  ///< factor by which this rank's gradients were multiplied
  };
  /// Clips the gradients and updates the weights.
  Clipped update(std::int32_t train_step);

  const LlamaWeights& weights() const { return weights_; }

  /// Returns this rank's weights and optimizer state by distinct names. The tensors are not copied.
  NamedTensors state() const;
  /// Returns the parameter that a name of state(), or a parameter's own name, belongs to.
  static std::string parameterFor(const std::string& key);
  std::int64_t updates() const { return optimizer_.steps(); }
  const AdamW::Options& optimizerOptions() const { return optimizer_.options(); }
  /// Returns the part of state() that this rank writes into a checkpoint for its tp place.
  NamedTensors stateToSave() const;
  /// Restores a checkpoint, of this layout or another.
  void restore(const Checkpoint& checkpoint);

 private:
  /// Returns this rank's part of the sequences of its cp group.
  Batch takeLocalPart(const Batch& batch, const SeamPlace& at);
  /// Computes the rows of the rotary table for this rank's tokens, if freqs_cis is one of the
  /// buffers.
  void cutRotaryTable(const std::vector<BufferCut>& cuts, const SeamPlace& at);
  LlamaHooks modelHooks();
  void recordAttention(std::int32_t train_step);
  void recordOwnLoss(const traces::Place& place, const LocalLoss& own);
  static bool countsWholeSequence(const Batch& own);
  void recordIntent(std::int32_t train_step);
  std::vector<traces::IntentRecord> byMask(const traces::IntentRecord& meant) const;

  RankContext& context_;
  const TrainSetup& setup_;
  TensorParallel tp_;
  LlamaSlices slices_;
  LlamaWeights weights_;
  Gradients gradients_, own_gradients_;
  ShardLayout layout_;  // of this rank's sequences in this step
  StepAttention attention_;
  LlamaModel model_;
  AdamW optimizer_;
  std::int32_t train_step_ = 0;
  at::Tensor rotary_rows_;                     // [S_local]; undefined: use position ids
  std::vector<traces::IntentRecord> intents_;  // those that were recorded last
};

}  // namespace ringscope::engine
