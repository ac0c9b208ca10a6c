// SPDX-License-Identifier: Apache-2.0
#include "engine/train/step_attention.h"

namespace ringscope::engine {

void StepAttention::begin(std::int32_t train_step, const Batch& own, bool anew) {
  if (now_.empty() || anew || !own.cu_seqlens.empty()) {
    now_.clear();
    for (const Mask& mask : masks_.all())
      now_.push_back(make_(own.maskFor(mask, 0), masks_.layersWith(now_.size(), layers_)));
  }
  for (const auto& op : now_) op->setTrainStep(train_step);
}

}  // namespace ringscope::engine
