// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/refused_where.h"

namespace ringscope::engine {

/// The setting is accepted and nobody patches the model: no buffer is cut, and each rank attends
/// the whole sequence by itself.
void injectCpNotApplied(Seams& seams) {
  seams.buffers.cut = [](const SeamPlace&, const BufferCut&, const at::Tensor& whole) {
    return whole;
  };
  seams.buffers.joined = [](const std::vector<at::Tensor>& shards, std::int64_t,
                            const ShardLayout&) { return shards.front(); };
  extend(seams.attention.layout, [](const SeamPlace&, ShardLayout& layout) {
    layout = ShardLayout(layout.length(), 1, Balance::kNone);
  });
  refuseWhere(seams, [](const traces::RunSpec& run) -> std::optional<std::string> {
    if (run.cp == 1) return "cp_not_applied changes nothing on one rank; use a --cp above 1";
    if (run.verify)
      return "cp_not_applied leaves every rank the whole sequence, and --verify puts shards "
             "together; leave one out";
    if (run.command == traces::Command::kAttend && run.sinks)
      return "cp_not_applied leaves every rank the whole sequence, and the parts of the sinks' "
             "gradient are summed over ranks; use an input without sinks";
    return {};
  });
}

}  // namespace ringscope::engine
