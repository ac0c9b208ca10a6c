// SPDX-License-Identifier: Apache-2.0
#include "engine/data/sharded_buffers.h"

#include "engine/data/sharded_batch.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {

ShardedBuffers::ShardedBuffers(std::vector<SequenceBuffer> buffers, const ShardLayout& layout,
                               GroupRank rank)
    : buffers_(std::move(buffers)) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const SequenceBuffer& b = buffers_[i];
    if (b.seq_dim < 0 || b.seq_dim >= b.tensor->dim() ||
        b.tensor->size(b.seq_dim) != layout.length())
      throw usageError("buffer " + std::to_string(i) + " has no dimension " +
                       std::to_string(b.seq_dim) + " of the sequence's length " +
                       std::to_string(layout.length()) +
                       "; give each buffer its own sequence "
                       "dimension");
  }
  if (layout.cpSize() == 1) {
    buffers_.clear();
    return;
  }
  for (const SequenceBuffer& b : buffers_) {
    whole_.push_back(*b.tensor);
    *b.tensor = shardFor(*b.tensor, b.seq_dim, layout, rank);
  }
}

ShardedBuffers::~ShardedBuffers() {
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (buffers_[i].restore) *buffers_[i].tensor = whole_[i];
}

}  // namespace ringscope::engine
