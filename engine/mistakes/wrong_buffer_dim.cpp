// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {
/// buffer_seq_dims names the batch dimension: each rank gets whole sequences, some of them, and
/// attention takes their first rows for its shard.
void injectWrongBufferDim(Seams& seams) {
  constexpr std::int64_t kBatch = 0, kSequence = 1;
  extend(seams.buffers.cuts, [](const SeamPlace&, std::vector<BufferCut>& cuts) {
    for (BufferCut& cut : cuts)
      if (cut.seq_dim == kSequence) cut.seq_dim = kBatch;
  });
  seams.buffers.cut = [](const SeamPlace& at, const BufferCut& how, const at::Tensor& whole) {
    const ShardLayout rows(whole.size(how.seq_dim), at.mesh.cp, Balance::kNone);
    return cutBuffer({how.buffer, how.seq_dim, rows}, whole, at.cpRank());
  };
}

}  // namespace ringscope::engine
