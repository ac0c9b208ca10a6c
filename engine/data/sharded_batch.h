// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "engine/data/batch.h"
#include "engine/observe/observer.h"
#include "engine/sharding/shard_layout.h"

namespace ringscope::engine {

/// The rows of `full` along `seq_dim` that `rank` owns, in local order.
at::Tensor shardOf(const at::Tensor& full, std::int64_t seq_dim, const ShardLayout& layout,
                   int rank);

/// Joins the shards of all ranks, in rank order, back into global order.
at::Tensor unshard(const std::vector<at::Tensor>& shards, std::int64_t seq_dim,
                   const ShardLayout& layout);

/// Cuts the buffers named in `sharded` along the sequence, as PyTorch's context_parallel does with
/// buffers=[…], buffer_seq_dims=[1, 1, 1], and records how each was cut. position_ids that are not
/// among them are what a model makes by itself from the length that it sees: 0 … S_local − 1.
Batch shardBatch(const Batch& batch, const std::set<std::string>& sharded,
                 const ShardLayout& layout, int rank, Observer& observer, std::int32_t train_step);

}  // namespace ringscope::engine
