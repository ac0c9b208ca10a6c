// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_config.h"

namespace ringscope::engine {

nlohmann::json StepLog::toJson() const {
  return {{"step", step},
          {"loss", loss},
          {"grad_norm", grad_norm},
          {"clip_coefficient", clip_coefficient},
          {"targets", targets},
          {"seconds", seconds},
          {"peak_bytes", peak_bytes},
          {"peak_bytes_with_verification", peak_bytes_with_verification}};
}

}  // namespace ringscope::engine
