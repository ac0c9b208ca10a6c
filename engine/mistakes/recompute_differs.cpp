// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Activations are computed again in bf16, as outside of the autocast region of the forward pass.
void injectRecomputeDiffers(Seams& seams) {
  extend(seams.model.recomputed, [](const SeamPlace&, at::Tensor& q, at::Tensor& k, at::Tensor& v) {
    for (at::Tensor* t : {&q, &k, &v}) *t = t->to(at::kBFloat16).to(t->scalar_type());
  });
}

}  // namespace ringscope::engine
