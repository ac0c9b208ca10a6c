// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/refused_where.h"

namespace ringscope::engine {

/// Blocks go round the ranks of the dp group, which is taken for the cp group: each rank gets those
/// of another sequence.
void injectWrongProcessGroup(Seams& seams) {
  seams.ring.group = [](const SeamPlace&, MeshGroups& groups, std::vector<GroupRank> cp_ranks) {
    return Group(groups.dp(), std::move(cp_ranks));
  };
  refuseWhere(seams, [](const traces::RunSpec& run) -> std::optional<std::string> {
    const bool of_one_size = run.cp > 1 && run.dp == run.cp;
    const bool shares_heads =
        run.strategy == traces::Strategy::kUlysses || run.strategy == traces::Strategy::kHybrid;
    if (of_one_size && !shares_heads && run.mask != traces::MaskKind::kDocuments) return {};
    return "wrong_process_group takes the dp group for the cp group: ranks find their places in it "
           "where --dp equals --cp and is above 1, with --strategy ring or all_gather and no "
           "documents";
  });
}

}  // namespace ringscope::engine
