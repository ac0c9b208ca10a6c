// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// The loss is taken times cp, for a reduction that divides by all ranks and is not there.
void injectLossScaledByCp(Seams& seams) {
  seams.loss.reduce = [before = seams.loss.reduce](const SeamPlace& at, MeshGroups& groups,
                                                   const LocalLoss& local) {
    ReducedLoss reduced = before(at, groups, local);
    reduced.loss *= at.mesh.cp;
    reduced.scale *= at.mesh.cp;
    return reduced;
  };
}

}  // namespace ringscope::engine
