// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Blocks go round the ranks of the dp group, which is taken for the cp group: each rank gets those
/// of another sequence.
void injectWrongProcessGroup(Seams& seams) {
  seams.ring.group = [](const SeamPlace&, MeshGroups& groups, std::vector<GroupRank> cp_ranks) {
    return Group(groups.dp(), std::move(cp_ranks));
  };
}

}  // namespace ringscope::engine
