// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/data/batch.h"
#include "engine/observe/observer.h"
#include "engine/plan.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

/// Returns the rows of `full` along `seq_dim` that `rank` owns, in local order.
at::Tensor shardFor(const at::Tensor& full, std::int64_t seq_dim, const ShardLayout& layout,
                    GroupRank rank);

/// Joins the shards of all ranks, in rank order, into global order.
at::Tensor unshard(const std::vector<at::Tensor>& shards, std::int64_t seq_dim,
                   const ShardLayout& layout);

/// The dimension and layout by which one buffer is cut.
struct BufferCut {
  std::string buffer;
  std::int64_t seq_dim = 0;
  ShardLayout layout;
};
/// Returns the tokens of a rank's part of a buffer, as they are recorded; the buffer's sequence
/// dimension is `seq_dim`. Returns the layout's tokens, or all tokens if the buffer was not cut.
/// Returns nothing if the part does not show which tokens it holds.
std::vector<TokenRun> tokensOfPart(const BufferCut& cut, const at::Tensor& whole,
                                   const at::Tensor& part, std::int64_t seq_dim, GroupRank rank);
/// A function that returns this rank's part of a buffer.
using CutRule = std::function<at::Tensor(const BufferCut& cut, const at::Tensor& whole)>;

/// Returns the part of `rank`. Throws usageError if the buffer's size along the dimension differs
/// from the layout's length.
at::Tensor cutBuffer(const BufferCut& cut, const at::Tensor& whole, GroupRank rank);
/// Returns the part of a buffer that `cuts` names, or the whole buffer if it is not named.
at::Tensor localPart(const std::string& buffer, const at::Tensor& whole,
                     const std::vector<BufferCut>& cuts, const CutRule& rule);

/// Returns how a run's buffers are cut, like PyTorch's context_parallel with buffers=[…] and
/// buffer_seq_dims=[…].
std::vector<BufferCut> bufferCuts(const std::vector<traces::BufferChoice>& buffers,
                                  const ShardLayout& layout);
/// Cuts a batch. If `cuts` does not name position_ids, they become 0 … S_local − 1, as a model
/// makes them from the length that it sees.
Batch cutBatch(const Batch& batch, const std::vector<BufferCut>& cuts, const CutRule& rule);
/// Cuts a batch and records how each buffer was cut.
Batch shardBatch(const Batch& batch, const std::vector<BufferCut>& cuts, const CutRule& rule,
                 GroupRank rank, Observer& observer, std::int32_t train_step);
/// Records a rank's part of each buffer that `cuts` names, as the model gets it.
void recordBuffers(const Batch& local, const std::vector<BufferCut>& cuts, Observer& observer,
                   std::int32_t train_step);

}  // namespace ringscope::engine
