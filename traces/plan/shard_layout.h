// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/format/schema/run_spec.h"
#include "traces/format/schema/schedule_record.h"
#include "traces/plan/rank_order.h"

namespace ringscope::traces {

/// Which global token indices each cp rank owns, and in which local order. Integers only.
class ShardLayout {
 public:
  /// Deals the tokens, in contiguous parts unless another balance is named. `documents` cuts the
  /// whole length without gaps; only a balance that deals documents uses it. Throws usageError when
  /// the tokens cannot be dealt evenly, and says what would work.
  ShardLayout(std::int64_t length, int cp_size, Balance balance = Balance::kNone,
              const std::vector<TokenRun>& documents = {});

  /// Where a run of a joined shard lies: the member of the group, and its local rows there.
  struct Segment {
    GroupRank member = GroupRank::of(0);
    std::int64_t offset = 0;
    ShardRun run;
  };
  /// The runs of the `group` neighbouring ranks that begin with `first_rank`, in global order where
  /// they do not interleave.
  std::vector<Segment> segments(GroupRank first_rank, int group) const;
  /// The layout of `group` neighbouring ranks taken as one: what each of them holds once a sequence
  /// has been turned into heads among them, in the order of segments().
  ShardLayout joined(int group) const;

  std::int64_t length() const { return length_; }
  int cpSize() const { return static_cast<int>(shards_.size()); }
  Balance balance() const { return balance_; }
  std::int64_t localLength() const { return length_ / cpSize(); }

  /// In local order. All runs of a layout have the same stride.
  const std::vector<ShardRun>& shard(GroupRank rank) const { return shards_[rank.index()]; }
  /// The same as half-open runs of consecutive global indices, as recordings keep them.
  std::vector<TokenRun> runs(GroupRank rank) const;
  /// global_from_local[i]: the global index of the rank's i-th token.
  std::vector<TokenIndex> globalFromLocal(GroupRank rank) const;
  /// Indices that put a global sequence into rank order: x[rearrange] is all shards joined.
  std::vector<std::int64_t> rearrange() const;
  /// The inverse: joined[restore] is back in global order.
  std::vector<std::int64_t> restore() const;

 private:
  ShardLayout() = default;
  void dealHeadTail(std::int64_t begin, std::int64_t length);
  void dealDocuments(const std::vector<TokenRun>& documents);

  std::int64_t length_ = 0;
  Balance balance_ = Balance::kNone;
  std::vector<std::vector<ShardRun>> shards_;
};

}  // namespace ringscope::traces
