// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// The sum of the gradients is taken times cp.
void injectGradScaledByCp(Seams& seams) {
  seams.gradients.reduce = [before = seams.gradients.reduce](const SeamPlace& at,
                                                             MeshGroups& groups, at::Tensor& flat) {
    before(at, groups, flat);
    flat.mul_(at.mesh.cp);
  };
}

}  // namespace ringscope::engine
