// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/kernels/attention_op.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

/// Computes attention of the processor's tensors by `inner` on the device of a run, and returns the
/// results to the processor. The kernels of a GPU round differently, above all in fp32.
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
