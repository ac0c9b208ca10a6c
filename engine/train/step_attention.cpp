// SPDX-License-Identifier: Apache-2.0
#include "engine/train/step_attention.h"

namespace ringscope::engine {

void StepAttention::begin(std::int32_t train_step, const Batch& own, bool anew) {
  if (!now_ || anew || !own.cu_seqlens.empty()) now_ = make_(own.maskFor(mask_, 0));
  now_->setTrainStep(train_step);
}

}  // namespace ringscope::engine
