// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/kernels/attention_op.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

/// Attention that `inner` computes on a run's device, of tensors that the processor has, with its
/// results there: kernels of a GPU round otherwise than those of the processor, in fp32 above all.
class AttentionOnDevice : public AttentionOp {
 public:
  AttentionOnDevice(std::unique_ptr<AttentionOp> inner, traces::Device device)
      : inner_(std::move(inner)), device_(device) {}
  void setSinks(at::Tensor sinks) override;
  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override;
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              Layer layer) override;

 private:
  at::Tensor there(const at::Tensor& t) const;

  std::unique_ptr<AttentionOp> inner_;
  traces::Device device_;
};

}  // namespace ringscope::engine
