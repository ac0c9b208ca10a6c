// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {
namespace {

bool rowsAreAlike(const at::Tensor& t) {
  return at::equal(t, t.select(0, 0).expand_as(t));
}

/// Puts each row of the batch into the layout's order, in its own memory.
void rearrangeInPlace(const at::Tensor& whole, const ShardLayout& layout) {
  const at::Tensor order = at::tensor(layout.rearrange(), at::kLong);
  for (std::int64_t row = 0; row < whole.size(0); ++row) {
    const at::Tensor of_row = whole.select(0, row);
    of_row.copy_(of_row.index_select(0, order));
  }
}

}  // namespace

/// position_ids is one row of memory that is expanded over the batch, and the load balance reorders
/// it in place once for each row of the batch.
void injectAliasedBuffer(Seams& seams) {
  seams.data.batch = [before = seams.data.batch](const SeamPlace& at, const BatchSource& source) {
    Batch batch = before(at, source);
    at::Tensor& ids = batch.position_ids;
    if (rowsAreAlike(ids)) ids = ids.select(0, 0).clone().expand_as(ids);
    return batch;
  };
  seams.buffers.cut = [before = seams.buffers.cut](const SeamPlace& at, const BufferCut& how,
                                                   const at::Tensor& whole) {
    if (how.buffer != "position_ids" || whole.stride(0) != 0) return before(at, how, whole);
    rearrangeInPlace(whole, how.layout);
    const std::int64_t length = how.layout.localLength();
    return whole.narrow(how.seq_dim, at.cpRank().value() * length, length).contiguous();
  };
}

}  // namespace ringscope::engine
