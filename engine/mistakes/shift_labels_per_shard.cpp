// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// The tokens are cut without labels, and each rank takes the next token of its shard: a chunk's
/// last token gets the first of the next chunk that the rank holds, and the shard's last none.
void injectShiftLabelsPerShard(Seams& seams) {
  extend(seams.buffers.sharded, [](const SeamPlace&, Batch& local) {
    const at::Tensor last = at::full({local.input_ids.size(0), 1}, -100, local.labels.options());
    local.labels = at::cat({local.input_ids.slice(1, 1), last}, 1);
  });
}

}  // namespace ringscope::engine
