// SPDX-License-Identifier: Apache-2.0
#include "engine/data/batch_layout.h"

#include <ATen/ATen.h>

#include "engine/data/sharded_batch.h"
#include "traces/plan/balance.h"

namespace ringscope::engine {

ShardLayout layoutFor(const ShardLayout& common, const Batch& batch, std::int64_t sequence) {
  if (!traces::needsDocuments(common.balance()) || batch.cu_seqlens.empty()) return common;
  const auto& ends = batch.cu_seqlens.at(static_cast<std::size_t>(sequence));
  std::vector<TokenRun> documents;
  for (std::size_t d = 0; d + 1 < ends.size(); ++d) documents.push_back({ends[d], ends[d + 1]});
  return ShardLayout(common.length(), common.cpSize(), common.balance(), documents);
}

BatchLayout::BatchLayout(const ShardLayout& common, const Batch& batch) {
  const bool alike = !traces::needsDocuments(common.balance()) || batch.cu_seqlens.empty();
  const std::int64_t layouts = alike ? 1 : batch.input_ids.size(0);
  for (std::int64_t i = 0; i < layouts; ++i) of_sequences_.push_back(layoutFor(common, batch, i));
}

at::Tensor BatchLayout::shardFor(const at::Tensor& full, std::int64_t seq_dim,
                                 GroupRank rank) const {
  if (of_sequences_.size() == 1)
    return engine::shardFor(full, seq_dim, of_sequences_.front(), rank);
  std::vector<at::Tensor> parts;
  for (std::size_t i = 0; i < of_sequences_.size(); ++i)
    parts.push_back(engine::shardFor(full.narrow(0, static_cast<std::int64_t>(i), 1), seq_dim,
                                     of_sequences_[i], rank));
  return at::cat(parts, 0);
}

at::Tensor BatchLayout::unshard(const std::vector<at::Tensor>& shards, std::int64_t seq_dim) const {
  if (of_sequences_.size() == 1) return engine::unshard(shards, seq_dim, of_sequences_.front());
  std::vector<at::Tensor> whole;
  for (std::size_t i = 0; i < of_sequences_.size(); ++i) {
    std::vector<at::Tensor> of_sequence;
    for (const at::Tensor& shard : shards)
      of_sequence.push_back(shard.narrow(0, static_cast<std::int64_t>(i), 1));
    whole.push_back(engine::unshard(of_sequence, seq_dim, of_sequences_[i]));
  }
  return at::cat(whole, 0);
}

}  // namespace ringscope::engine
