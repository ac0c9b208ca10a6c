// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/attention_on_device.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

at::Tensor AttentionOnDevice::there(const at::Tensor& t) const {
  return t.to(device_ == traces::Device::kCuda ? at::kCUDA : at::kCPU);
}

void AttentionOnDevice::setSinks(at::Tensor sinks) {
  inner_->setSinks(sinks.defined() ? there(sinks) : sinks);
}

AttentionResult AttentionOnDevice::forward(const at::Tensor& q, const at::Tensor& k,
                                           const at::Tensor& v, Layer layer) {
  const AttentionResult result = inner_->forward(there(q), there(k), there(v), layer);
  return {result.out.cpu(), result.lse.cpu()};
}

AttentionGradients AttentionOnDevice::backward(const at::Tensor& dout, const at::Tensor& q,
                                               const at::Tensor& k, const at::Tensor& v,
                                               const AttentionResult& result, Layer layer) {
  const AttentionGradients g = inner_->backward(there(dout), there(q), there(k), there(v),
                                                {there(result.out), there(result.lse)}, layer);
  return {g.dq.cpu(), g.dk.cpu(), g.dv.cpu()};
}

}  // namespace ringscope::engine
