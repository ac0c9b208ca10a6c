// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/plan.h"

namespace ringscope::engine {

/// A tensor with a sequence dimension.
struct SequenceBuffer {
  at::Tensor* tensor = nullptr;
  std::int64_t seq_dim = 0;
  bool restore = true;  ///< false: stays a shard afterwards (PyTorch's no_restore_buffers)
};

/// A guard with the effect of PyTorch's context_parallel(buffers, buffer_seq_dims,
/// no_restore_buffers). While it lives, every buffer is this rank's shard along its own sequence
/// dimension, in the layout's local order. The destructor makes the buffers whole again. With one
/// rank, buffers do not change. A buffer that is not passed stays whole; using it together with
/// sharded buffers is a mistake.
class ShardedBuffers {
 public:
  /// Shards the buffers. Throws usageError if a buffer lacks the dimension, or if its size there
  /// differs from the layout's length. The error names the buffer's index, and all buffers stay
  /// unchanged.
  ShardedBuffers(std::vector<SequenceBuffer> buffers, const ShardLayout& layout, GroupRank rank);
  ~ShardedBuffers();
  ShardedBuffers(const ShardedBuffers&) = delete;
  ShardedBuffers& operator=(const ShardedBuffers&) = delete;

 private:
  std::vector<SequenceBuffer> buffers_;
  std::vector<at::Tensor> whole_;
};

}  // namespace ringscope::engine
