// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/data/batch.h"
#include "engine/plan.h"

namespace ringscope::engine {

/// The layout of one sequence of a batch: `common`, or where that is kPerDocument, the layout of
/// the sequence's own documents. Throws usageError when they cannot be dealt.
ShardLayout layoutOf(const ShardLayout& common, const Batch& batch, std::int64_t sequence);

/// How the sequences of a batch are dealt to the cp ranks: all alike, or each by its documents. The
/// sequences are dimension 0 of all tensors.
class BatchLayout {
 public:
  /// All alike.
  explicit BatchLayout(ShardLayout common) : of_sequences_{std::move(common)} {}
  BatchLayout(const ShardLayout& common, const Batch& batch);

  int cpSize() const { return of_sequences_.front().cpSize(); }
  /// The rows that a rank owns, in local order.
  at::Tensor shardOf(const at::Tensor& full, std::int64_t seq_dim, GroupRank rank) const;
  /// Joins the shards of all ranks, in rank order, back into global order.
  at::Tensor unshard(const std::vector<at::Tensor>& shards, std::int64_t seq_dim) const;

 private:
  std::vector<ShardLayout> of_sequences_;  // one, or one for each sequence
};

}  // namespace ringscope::engine
