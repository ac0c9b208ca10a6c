// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/data/batch.h"
#include "engine/plan.h"

namespace ringscope::engine {

/// Returns the layout of one sequence of a batch: `common`, or with a balance that needs documents
/// the layout of the sequence's own documents. Throws usageError if the documents cannot be dealt.
ShardLayout layoutFor(const ShardLayout& common, const Batch& batch, std::int64_t sequence);

/// The layouts by which the sequences of a batch are dealt to the cp ranks: one for all sequences,
/// or one per sequence for its documents. Sequences are dimension 0 of all tensors.
class BatchLayout {
 public:
  /// Makes one layout for all sequences.
  explicit BatchLayout(ShardLayout common) : of_sequences_{std::move(common)} {}
  BatchLayout(const ShardLayout& common, const Batch& batch);

  int cpSize() const { return of_sequences_.front().cpSize(); }
  /// Returns the rows that a rank owns, in local order.
  at::Tensor shardFor(const at::Tensor& full, std::int64_t seq_dim, GroupRank rank) const;
  /// Joins the shards of all ranks, in rank order, into global order.
  at::Tensor unshard(const std::vector<at::Tensor>& shards, std::int64_t seq_dim) const;

 private:
  std::vector<ShardLayout> of_sequences_;  // one for all, or one per sequence
};

}  // namespace ringscope::engine
