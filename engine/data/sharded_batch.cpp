// SPDX-License-Identifier: Apache-2.0
#include "engine/data/sharded_batch.h"

#include <ATen/ATen.h>

#include "engine/data/sharded_buffers.h"
#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kSeqDim = 1;

}  // namespace

at::Tensor shardOf(const at::Tensor& full, std::int64_t seq_dim, const ShardLayout& layout,
                   int rank) {
  std::vector<at::Tensor> parts;
  for (const TokenRun& run : layout.runs(rank))
    parts.push_back(full.slice(seq_dim, run.begin, run.end));
  return at::cat(parts, seq_dim);
}

at::Tensor unshard(const std::vector<at::Tensor>& shards, std::int64_t seq_dim,
                   const ShardLayout& layout) {
  return at::cat(shards, seq_dim).index_select(seq_dim, at::tensor(layout.restore(), at::kLong));
}

Batch shardBatch(const Batch& batch, const std::set<std::string>& sharded,
                 const ShardLayout& layout, int rank, Observer& observer, std::int32_t train_step) {
  Batch local;
  const std::pair<const char*, at::Tensor Batch::*> all[] = {
      {"input_ids", &Batch::input_ids},
      {"labels", &Batch::labels},
      {"position_ids", &Batch::position_ids}};
  std::vector<SequenceBuffer> buffers;
  for (const auto& [name, field] : all) {
    if (!sharded.contains(name)) continue;
    local.*field = batch.*field;
    buffers.push_back({&(local.*field), kSeqDim, false});
  }
  ShardedBuffers(std::move(buffers), layout, rank);
  for (const auto& [name, field] : all) {
    if (!sharded.contains(name)) continue;
    observer.shard({name, train_step, static_cast<std::int16_t>(rank), true, kSeqDim,
                    (batch.*field).sizes().vec(), (local.*field).sizes().vec(), layout.runs(rank)});
    observer.tensor(std::string("buffer.") + name, {train_step}, local.*field);
  }
  if (!local.input_ids.defined() || !local.labels.defined())
    throw usageError("input_ids and labels must be among the sharded buffers");
  if (!local.position_ids.defined())
    local.position_ids =
        at::arange(local.input_ids.size(1), at::kLong).expand(local.input_ids.sizes()).contiguous();
  return local;
}

}  // namespace ringscope::engine
