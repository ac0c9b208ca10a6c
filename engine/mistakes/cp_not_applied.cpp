// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

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
}

}  // namespace ringscope::engine
