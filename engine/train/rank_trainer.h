// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention/strategies/registry.h"
#include "engine/data/batch.h"
#include "engine/model/llama_model.h"
#include "engine/train/train_config.h"
#include "engine/verify/step_verifier.h"

namespace ringscope::engine {

/// What all ranks of a run have in common; constant while it runs.
struct TrainSetup {
  const TrainConfig& config;
  LlamaConfig model;
  ShardLayout layout;
  at::ScalarType type;
  const BatchSource& batches;
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
    at::Tensor logits;  ///< [B, S_local, vocab]
  };
  /// Forward, backward and gradient sync; the gradients are then those of the whole batch.
  Result computeGradients(std::int32_t train_step);
  /// What the verifier compares, for the step just computed.
  RankStep report() const;
  /// Clip and update. Returns the gradient norm before clipping.
  double update(std::int32_t train_step);

  const LlamaWeights& weights() const { return weights_; }

 private:
  void recordAttention(std::int32_t train_step);

  RankContext& context_;
  const TrainSetup& setup_;
  LlamaWeights weights_;
  std::unique_ptr<ContextParallelOp> attention_;
  LlamaModel model_;
  AdamW optimizer_;
  std::int32_t train_step_ = 0;
};

}  // namespace ringscope::engine
