// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "engine/model/llama_weights.h"

namespace ringscope::engine {

/// AdamW with decoupled weight decay (Loshchilov and Hutter 2019), the update of torch.optim.AdamW.
class AdamW {
 public:
  struct Options {
    double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
  };
  AdamW(const LlamaWeights& weights, Options options);

  /// One update from the weights' .grad.
  void step();

 private:
  struct Moments {
    at::Tensor first, second;
  };
  const LlamaWeights& weights_;
  Options options_;
  std::map<std::string, Moments> moments_;
  std::int64_t steps_ = 0;
};

}  // namespace ringscope::engine
