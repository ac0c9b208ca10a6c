// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/format/schema/run_spec.h"
#include "traces/format/schema/schedule_record.h"
#include "traces/plan/rank_order.h"

namespace ringscope::traces {

/// The global token indices that each cp rank owns, and their local order. Integers only.
class ShardLayout {
 public:
  /// Deals the tokens, in contiguous parts unless another balance is named. `documents` cuts the
  /// whole length; only a balance that needs documents uses it. Throws usageError when
  /// the tokens cannot be dealt evenly, and says what would work.
  ShardLayout(std::int64_t length, int cp_size, Balance balance = Balance::kNone,
              const std::vector<TokenRun>& documents = {});

  /// A run of a joined shard and its location: the member of the group, and its first local row
  /// there.
  struct Segment {
    GroupRank member = GroupRank::of(0);
    std::int64_t offset = 0;
    ShardRun run;
  };
  /// Returns the runs of the `group` neighbouring ranks that begin with `first_rank`, in global
  /// order unless they interleave.
  std::vector<Segment> segments(GroupRank first_rank, int group) const;
  /// Returns the layout in which `group` neighbouring ranks count as one. It describes the joined
  /// shard that each of them attends with Ulysses, in the order of segments().
  ShardLayout joined(int group) const;

  std::int64_t length() const { return length_; }
  int cpSize() const { return static_cast<int>(shards_.size()); }
  Balance balance() const { return balance_; }
  std::int64_t localLength() const { return length_ / cpSize(); }

  /// Returns the rank's tokens in local order. All runs of a layout have the same stride.
  const std::vector<ShardRun>& shard(GroupRank rank) const { return shards_[rank.index()]; }
  /// Returns the rank's tokens as half-open runs of consecutive global indices, in the form of a
  /// recording.
  std::vector<TokenRun> runs(GroupRank rank) const;
  /// Returns global_from_local; element i is the global index of the rank's i-th token.
  std::vector<TokenIndex> globalFromLocal(GroupRank rank) const;
  /// Returns the indices that put a global sequence into rank order: x[rearrange] is all shards
  /// joined.
  std::vector<std::int64_t> rearrange() const;
  /// Returns the inverse of rearrange(): joined[restore] is in global order.
  std::vector<std::int64_t> restore() const;

 private:
  ShardLayout() = default;
  void dealHeadTail(std::int64_t begin, std::int64_t length);
  void dealDocuments(const std::vector<TokenRun>& documents);
  void dealByWork(const std::vector<TokenRun>& documents);

  std::int64_t length_ = 0;
  Balance balance_ = Balance::kNone;
  std::vector<std::vector<ShardRun>> shards_;
};

}  // namespace ringscope::traces
