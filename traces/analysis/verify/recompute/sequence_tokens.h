// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// What one rank has of the sequences that it shares with others.
struct RankTokens {
  WorldRank rank;
  std::vector<TokenIndex> tokens;   ///< in local order
  std::vector<double> ids, labels;  ///< [B, tokens]

  std::size_t rows() const { return tokens.empty() ? 0 : ids.size() / tokens.size(); }
  double id(std::size_t row, std::size_t local) const { return ids[row * tokens.size() + local]; }
  double label(std::size_t row, std::size_t local) const {
    return labels[row * tokens.size() + local];
  }
};

/// The token ids and labels of a training step as the ranks of a cp group had them, put together
/// again by their recorded shards.
class SequenceTokens {
 public:
  /// Where a token is.
  struct At {
    const RankTokens* rank = nullptr;
    std::size_t local = 0;
  };

  /// Only what was recorded of each rank: ids and labels, and which tokens these are. Nothing where
  /// that fits together on none, or where two ranks have the same token.
  static std::optional<SequenceTokens> of(const Trace& trace, std::int32_t train_step,
                                          const std::vector<WorldRank>& members);

  const std::vector<RankTokens>& ranks() const { return ranks_; }
  /// Whether all of the group's ranks are there.
  bool complete() const { return complete_; }
  /// A rank is null where nobody recorded the token.
  At find(TokenIndex token) const;
  std::optional<double> id(TokenIndex token, std::size_t row) const;
  std::optional<double> label(TokenIndex token, std::size_t row) const;

 private:
  std::vector<RankTokens> ranks_;
  std::unordered_map<TokenIndex, std::pair<std::size_t, std::size_t>> index_;  // rank, local
  bool complete_ = true;
};

/// The tokens of a rank's part of a buffer in local order, no more than `most`.
std::vector<TokenIndex> tokensOf(const ShardRecord& shard, std::size_t most);

}  // namespace ringscope::traces
