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

/// What PyTorch's context_parallel(buffers, buffer_seq_dims, no_restore_buffers) does: while it
/// lives, every buffer is this rank's shard along its own sequence dimension, in the layout's local
/// order; afterwards the buffers are whole again. With one rank nothing is touched. A buffer that
/// is not given stays whole, and whoever uses it with sharded ones makes a mistake.
class ShardedBuffers {
 public:
  /// Throws usageError when a buffer has no such dimension or not the layout's length along it,
  /// names it by its place in the list, and leaves all buffers as they were.
  ShardedBuffers(std::vector<SequenceBuffer> buffers, const ShardLayout& layout, GroupRank rank);
  ~ShardedBuffers();
  ShardedBuffers(const ShardedBuffers&) = delete;
  ShardedBuffers& operator=(const ShardedBuffers&) = delete;

 private:
  std::vector<SequenceBuffer> buffers_;
  std::vector<at::Tensor> whole_;
};

}  // namespace ringscope::engine
