// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention/strategies/registry.h"
#include "engine/data/batch.h"
#include "engine/model/llama_model.h"
#include "engine/train/adamw.h"
#include "engine/train/checkpoint.h"
#include "engine/train/gradients.h"
#include "engine/train/step_attention.h"
#include "engine/train/train_config.h"
#include "engine/verify/step_verifier.h"
#include "traces/format/schema/intent.h"

namespace ringscope::engine {

/// What all ranks of a run have in common; constant while it runs.
struct TrainSetup {
  const TrainConfig& config;
  traces::RunSpec run;  ///< as it is carried out
  LlamaConfig model;
  ShardLayout layout;  ///< with kPerDocument, of a sequence that is one document
  at::ScalarType type;
  const BatchSource& batches;
  std::map<std::string, std::string> lasting;  ///< what a checkpoint keeps of lastingSettings()
};

/// One rank's part of a training run: forward, backward, gradient sync, clip, update. Belongs to
/// its rank's thread.
class RankTrainer {
 public:
  /// Copies the weights into a replica of its own. References outlive this.
  RankTrainer(RankContext& context, const TrainSetup& setup, const LlamaWeights& initial);

  struct Result {
    double loss = 0;  ///< sum over the targets of all ranks, divided by their number
    std::int64_t targets = 0;
    at::Tensor logits;  ///< [B / dp, S_local, vocab / tp]
  };
  /// Forward, backward and gradient sync; gradients() are then those of the whole batch.
  Result computeGradients(std::int32_t train_step);
  const Gradients& gradients() const { return gradients_; }
  /// What the verifier compares, for the step just computed: the tensors themselves, which
  /// update() changes.
  RankStep report(const Result& result) const;
  struct Clipped {
    double norm = 0;         ///< of the gradients of all ranks, before
    double coefficient = 1;  ///< what this rank's were multiplied by
  };
  /// Clip and update.
  Clipped update(std::int32_t train_step);

  const LlamaWeights& weights() const { return weights_; }

  /// Weights and optimizer of this rank, by names that say which; the tensors themselves.
  NamedTensors state() const;
  /// The parameter that a name of state(), or a parameter's own, belongs to.
  static std::string parameterOf(const std::string& key);
  std::int64_t updates() const { return optimizer_.steps(); }
  const AdamW::Options& optimizerOptions() const { return optimizer_.options(); }
  /// Of those, what this rank writes into a checkpoint of its place in tp.
  NamedTensors stateToSave() const;
  /// Goes on from a checkpoint, of this layout or another.
  void restore(const Checkpoint& checkpoint);

 private:
  /// This rank's part of the sequences of its cp group.
  Batch localPartOf(const Batch& batch, const SeamPlace& at);
  /// Where freqs_cis is among the buffers: the rows of the table that this rank's tokens have.
  void cutRotaryTable(const std::vector<BufferCut>& cuts, const SeamPlace& at);
  LlamaHooks modelHooks();
  void recordAttention(std::int32_t train_step);
  void recordOwnLoss(const traces::Place& place, const LocalLoss& own);
  static bool countsWholeSequence(const Batch& own);
  void recordIntent(std::int32_t train_step);

  RankContext& context_;
  const TrainSetup& setup_;
  TensorParallel tp_;
  LlamaSlices slices_;
  LlamaWeights weights_;
  Gradients gradients_, own_gradients_;
  ShardLayout layout_;  // of this rank's sequences, in this step
  StepAttention attention_;
  LlamaModel model_;
  AdamW optimizer_;
  std::int32_t train_step_ = 0;
  at::Tensor rotary_rows_;                      // [S_local]; undefined: by position ids
  std::optional<traces::IntentRecord> intent_;  // what was recorded last
};

}  // namespace ringscope::engine
