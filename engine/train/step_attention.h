// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "engine/attention/strategies/context_parallel_op.h"
#include "engine/data/batch.h"

namespace ringscope::engine {

/// Attention of a run whose mask may change with every training step, because the documents in a
/// sequence change. Belongs to its rank's thread.
class StepAttention : public AttentionOp {
 public:
  using Make = std::function<std::unique_ptr<ContextParallelOp>(const Mask& mask)>;
  /// Makes the operator. `mask` is the mask of sequences that are one document.
  StepAttention(Mask mask, Make make) : mask_(std::move(mask)), make_(std::move(make)) {}

  /// Begins a step. `own` are the sequences of this rank's cp group; there is only one if they have
  /// documents. `anew` forces a new operator, because its inputs have changed.
  void begin(std::int32_t train_step, const Batch& own, bool anew);

  void setSinks(at::Tensor sinks) override { now_->setSinks(std::move(sinks)); }

  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override {
    return now_->forward(q, k, v, layer);
  }
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              Layer layer) override {
    return now_->backward(dout, q, k, v, result, layer);
  }

 private:
  Mask mask_;
  Make make_;
  std::unique_ptr<ContextParallelOp> now_;
};

}  // namespace ringscope::engine
