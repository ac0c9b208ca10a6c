// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "engine/train/gradients.h"

namespace ringscope::engine {

/// AdamW with decoupled weight decay (Loshchilov and Hutter 2019), the update of torch.optim.AdamW.
class AdamW {
 public:
  struct Options {
    double lr = 1e-3, weight_decay = 0.01, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  };
  /// Makes the optimizer. For bf16 or fp16 weights it keeps fp32 masters and rounds after each
  /// update.
  AdamW(const LlamaWeights& weights, Options options);

  void step(const Gradients& gradients);

  /// Returns the tensors that a resumed run needs, by name: "first.NAME", "second.NAME",
  /// "master.NAME". step() changes these tensors in place.
  std::map<std::string, at::Tensor> state() const;
  std::int64_t steps() const { return steps_; }
  const Options& options() const { return options_; }
  void setSteps(std::int64_t steps) { steps_ = steps; }

 private:
  struct Moments {
    at::Tensor first, second;
    at::Tensor master;  ///< the weight itself if its type is wide enough
  };
  const LlamaWeights& weights_;
  Options options_;
  std::map<std::string, Moments> moments_;
  std::int64_t steps_ = 0;
};

}  // namespace ringscope::engine
