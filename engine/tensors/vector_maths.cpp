// SPDX-License-Identifier: Apache-2.0
#include "engine/tensors/vector_maths.h"

#include <ATen/ATen.h>

#include <mutex>

namespace ringscope::engine {

void settleVectorMaths() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      const at::Tensor some = at::ones({16}, type);
      for (const auto& of : {at::exp, at::log, at::sin, at::cos, at::sqrt, at::tanh}) of(some);
    }
  });
}

}  // namespace ringscope::engine
