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

/// The rows of `full` along `seq_dim` that `rank` owns, in local order.
at::Tensor shardOf(const at::Tensor& full, std::int64_t seq_dim, const ShardLayout& layout,
                   GroupRank rank);

/// Joins the shards of all ranks, in rank order, back into global order.
at::Tensor unshard(const std::vector<at::Tensor>& shards, std::int64_t seq_dim,
                   const ShardLayout& layout);

/// How one buffer is cut.
struct BufferCut {
  std::string buffer;
  std::int64_t seq_dim = 0;
  ShardLayout layout;
};
/// The tokens of a rank's part of a buffer whose sequence is `seq_dim`, as they are recorded: those
/// of the layout, or all where nothing was cut off; none where that does not say which they are.
std::vector<TokenRun> tokensOfPart(const BufferCut& cut, const at::Tensor& whole,
                                   const at::Tensor& part, std::int64_t seq_dim, GroupRank rank);
/// Gives this rank's part of a buffer.
using CutRule = std::function<at::Tensor(const BufferCut& cut, const at::Tensor& whole)>;

/// The part of `rank`. Throws usageError when the buffer has not the layout's length along the
/// dimension.
at::Tensor cutBuffer(const BufferCut& cut, const at::Tensor& whole, GroupRank rank);
/// The part of a buffer where `cuts` names it, else the whole buffer.
at::Tensor localPart(const std::string& buffer, const at::Tensor& whole,
                     const std::vector<BufferCut>& cuts, const CutRule& rule);

/// How a run's buffers are cut, as PyTorch's context_parallel does with buffers=[…] and
/// buffer_seq_dims=[…].
std::vector<BufferCut> cutsOf(const std::vector<traces::BufferChoice>& buffers,
                              const ShardLayout& layout);
/// Cuts a batch. position_ids that `cuts` does not name are what a model makes by itself from the
/// length that it sees: 0 … S_local − 1.
Batch cutBatch(const Batch& batch, const std::vector<BufferCut>& cuts, const CutRule& rule);
/// The same, and records how each buffer was cut.
Batch shardBatch(const Batch& batch, const std::vector<BufferCut>& cuts, const CutRule& rule,
                 GroupRank rank, Observer& observer, std::int32_t train_step);
/// Records a rank's part of each buffer that `cuts` names, as the model gets it.
void recordBuffers(const Batch& local, const std::vector<BufferCut>& cuts, Observer& observer,
                   std::int32_t train_step);

}  // namespace ringscope::engine
