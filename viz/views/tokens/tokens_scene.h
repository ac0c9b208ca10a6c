// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/compare/token_losses.h"
#include "viz/scene/cursor.h"
#include "viz/scene/data.h"

namespace ringscope::viz {

/// The losses that a sequence is compared with.
struct OtherLosses {
  std::string name;  ///< "b.rscope", "ranks 4–7"; empty: there is nothing to compare with
  traces::TokenLosses losses;  ///< of all sequences
  bool same_sequences = true;  ///< false: sequences are matched by their place in the batch
};

/// A target of the sequence.
struct TokenPoint {
  TokenIndex token;
  WorldRank rank;
  std::int64_t label = 0;
  double loss = 0, log_probability = 0;
  std::optional<double> other;  ///< loss of the same token in what it is compared with

  /// Returns this loss − the other loss; 0 when there is no other.
  double difference() const { return other ? loss - *other : 0; }
  friend bool operator==(const TokenPoint&, const TokenPoint&) = default;
};

/// A line between two tokens of the sequence.
struct TokenBorder {
  std::int64_t before = 0;  ///< token after the line
  bool chunk = false, shard = false, document = false;

  friend bool operator==(const TokenBorder&, const TokenBorder&) = default;
};

/// Consecutive tokens of one rank.
struct OwnedTokens {
  std::int64_t begin = 0, end = 0;
  WorldRank rank;

  friend bool operator==(const OwnedTokens&, const OwnedTokens&) = default;
};

/// The losses of the targets of one sequence over the global position.
struct TokensScene {
  std::string note;  ///< why nothing is shown; empty when something is
  int train_step = 0;
  std::int64_t sequence = 0, sequences = 0;  ///< index in the group's batch, and its size
  std::int64_t length = 0;                   ///< tokens of the sequence
  std::vector<TokenPoint> points;            ///< ascending by token
  std::vector<OwnedTokens> owners;           ///< ascending
  std::vector<TokenBorder> borders;          ///< ascending
  double mean = 0;
  std::int64_t worst = -1;             ///< index of the point with the largest loss
  std::int64_t worst_difference = -1;  ///< of the largest |difference|; -1: nothing is compared
  std::string other_name;              ///< what is compared with; empty: nothing
  std::string other_note;              ///< why there are no differences
  std::string missing;                 ///< why the losses of a rank are unknown
  std::int64_t vocabulary = 256;
  TokenIndex selected;

  friend bool operator==(const TokensScene&, const TokensScene&) = default;
};

/// Makes the scene of a sequence of the cursor's group. `losses` are those of the group's ranks.
TokensScene makeTokensScene(const traces::Trace& trace, const Cursor& cursor, std::int64_t sequence,
                            const traces::TokenLosses& losses, const OtherLosses& other);

/// Says the mean and the worst token, and where the sequence differs most.
std::string describe(const TokensScene& scene);
/// Describes one target: "token 93 · rank 1 · label e · loss 3.21 · log probability −3.21".
std::string describePoint(const TokensScene& scene, const TokenPoint& point);

/// The points under one column of pixels.
struct TokenColumn {
  std::int64_t first = 0;  ///< token
  std::size_t points = 0;  ///< number of targets
  double mean = 0, largest = 0;
  double log_probability = 0;  ///< mean
  double difference = 0;       ///< the largest in magnitude, with its sign
  std::int64_t point = -1;     ///< index of the point with the largest loss
  WorldRank rank;              ///< owner of all its targets; none: several, or no target

  friend bool operator==(const TokenColumn&, const TokenColumn&) = default;
};
/// Gathers the points in at most `columns` columns that are equally wide in tokens.
std::vector<TokenColumn> gatherColumns(const TokensScene& scene, std::int64_t columns);

}  // namespace ringscope::viz
