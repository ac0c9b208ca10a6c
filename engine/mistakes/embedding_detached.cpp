// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// The embedded tokens were resized in place and have lost their graph.
void injectEmbeddingDetached(Seams& seams) {
  extend(seams.model.embedded,
         [](const SeamPlace&, at::Tensor& embedded) { embedded = embedded.detach(); });
}

}  // namespace ringscope::engine
