// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// cos and sin are a table of the whole sequence that is not among the buffers: each rank takes its
/// first rows, those of the first tokens.
void injectMissingRopeBuffer(Seams& seams) {
  extend(seams.model.rotary, [](const SeamPlace&, at::Tensor& of_cos, at::Tensor& of_sin) {
    of_cos = of_sin = at::arange(of_cos.size(1), of_cos.options()).expand_as(of_cos);
  });
}

}  // namespace ringscope::engine
