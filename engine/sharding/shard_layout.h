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
};
const char* name(Balance balance);

/// Which global token indices each cp rank owns, and in which local order. Integers only.
class ShardLayout {
 public:
  /// Throws usageError when `length` tokens cannot be dealt evenly, and says what would work.
  ShardLayout(std::int64_t length, int cp_size, Balance balance);

  std::int64_t length() const { return length_; }
  int cpSize() const { return cp_size_; }
  Balance balance() const { return balance_; }
  std::int64_t localLength() const { return length_ / cp_size_; }

  /// Runs of consecutive global indices, in local order. All runs of a layout are equally long.
  const std::vector<TokenRun>& runs(int rank) const {
    return runs_[static_cast<std::size_t>(rank)];
  }
  /// global_from_local[i]: the global index of the rank's i-th token.
  std::vector<std::int64_t> globalFromLocal(int rank) const;
  /// Indices that put a global sequence into rank order: x[rearrange] is all shards joined.
  std::vector<std::int64_t> rearrange() const;
  /// The inverse: joined[restore] is back in global order.
  std::vector<std::int64_t> restore() const;

 private:
  std::int64_t length_;
  int cp_size_;
  Balance balance_;
  std::vector<std::vector<TokenRun>> runs_;
};

}  // namespace ringscope::engine
