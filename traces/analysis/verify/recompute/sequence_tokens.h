// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// One rank's part of the sequences that it shares with other ranks.
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

/// The token ids and labels of a training step on the ranks of a cp group, put together by their
/// recorded shards.
class SequenceTokens {
 public:
  /// The location of a token.
  struct At {
    const RankTokens* rank = nullptr;
    std::size_t local = 0;
  };

  /// Reads the recorded ids, labels and tokens of each rank. Skips a rank whose recorded tensors do
  /// not match. Returns nullopt when no rank remains, or when two ranks have the same token.
  static std::optional<SequenceTokens> of(const Trace& trace, std::int32_t train_step,
                                          const std::vector<WorldRank>& members);
  /// Reads ids and tokens alone. The ranks have no labels then.
  static std::optional<SequenceTokens> withoutLabels(const Trace& trace, std::int32_t train_step,
                                                     const std::vector<WorldRank>& members);

  const std::vector<RankTokens>& ranks() const { return ranks_; }
  /// Reports whether all of the group's ranks are present.
  bool complete() const { return complete_; }
  /// Returns the location of a token; its rank is null when nobody recorded the token.
  At find(TokenIndex token) const;
  std::optional<double> id(TokenIndex token, std::size_t row) const;
  std::optional<double> label(TokenIndex token, std::size_t row) const;

 private:
  static std::optional<SequenceTokens> read(const Trace& trace, std::int32_t train_step,
                                            const std::vector<WorldRank>& members, bool labels);

  std::vector<RankTokens> ranks_;
  // rank, local index
  std::unordered_map<TokenIndex, std::pair<std::size_t, std::size_t>> index_;
  bool complete_ = true;
};

/// Returns the tokens of a rank's part of a buffer in local order, at most `most` of them.
std::vector<TokenIndex> tokensIn(const ShardRecord& shard, std::size_t most);

}  // namespace ringscope::traces
