// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/schema/records.h"

namespace ringscope::engine {

using traces::TokenRun;

/// How the tokens of a sequence are dealt to the cp ranks.
enum class Balance {
  kNone,      ///< rank r owns the r-th of cp_size equal parts
  kHeadTail,  ///< of 2·cp_size chunks rank r owns r and 2·cp_size − 1 − r (Transformer Engine,
              ///< PyTorch)
  kStriped,      ///< rank r owns every cp_size-th token from r on (Striped Attention,
                 ///< arXiv:2311.09431)
  kPerDocument,  ///< head_tail within each document (PyTorch's per-document balancer)
};
const char* name(Balance balance);
/// Throws usageError that lists the names.
Balance parseBalance(const std::string& name);

/// `count` tokens at global indices begin, begin + stride, …; consecutive in local order.
struct ShardRun {
  std::int64_t begin = 0, count = 0, stride = 1;
  std::int64_t global(std::int64_t i) const { return begin + i * stride; }
  friend bool operator==(const ShardRun&, const ShardRun&) = default;
};

/// Which global token indices each cp rank owns, and in which local order. Integers only.
class ShardLayout {
 public:
  /// `documents`: the cut of the whole length that kPerDocument deals by, without gaps.
  /// Throws usageError when the tokens cannot be dealt evenly, and says what would work.
  ShardLayout(std::int64_t length, int cp_size, Balance balance,
              const std::vector<TokenRun>& documents = {});

  /// Where a run of a joined shard lies: the member of the group, and its local rows there.
  struct Segment {
    int member = 0;
    std::int64_t offset = 0;
    ShardRun run;
  };
  /// The runs of the `group` neighbouring ranks that begin with `first_rank`, in global order where
  /// they do not interleave.
  std::vector<Segment> segments(int first_rank, int group) const;
  /// The layout of `group` neighbouring ranks taken as one: what each of them holds once a sequence
  /// has been turned into heads among them, in the order of segments().
  ShardLayout joined(int group) const;

  std::int64_t length() const { return length_; }
  int cpSize() const { return static_cast<int>(shards_.size()); }
  Balance balance() const { return balance_; }
  std::int64_t localLength() const { return length_ / cpSize(); }

  /// In local order. All runs of a layout have the same stride.
  const std::vector<ShardRun>& shard(int rank) const {
    return shards_[static_cast<std::size_t>(rank)];
  }
  /// The same as half-open runs of consecutive global indices, as recordings keep them.
  std::vector<TokenRun> runs(int rank) const;
  /// global_from_local[i]: the global index of the rank's i-th token.
  std::vector<std::int64_t> globalFromLocal(int rank) const;
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

/// What a length must be a multiple of for a balance: cp, or 2·cp.
std::int64_t lengthUnit(Balance balance, int cp_size);

}  // namespace ringscope::engine
