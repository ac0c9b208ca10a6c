// SPDX-License-Identifier: Apache-2.0
// Tokens of ranks, put into the order that their targets show.
#include <gtest/gtest.h>

#include "traces/exchange/import/recording/token_chains.h"

namespace ringscope::traces {
namespace {

using Tokens = std::vector<std::int64_t>;

/// The ids and targets of ranks that were dealt one sequence.
struct Dealt {
  std::vector<Tokens> ids, targets;

  Dealt(const Tokens& sequence, const std::vector<Tokens>& tokens) {
    for (const Tokens& own : tokens) {
      ids.emplace_back();
      targets.emplace_back();
      for (const std::int64_t token : own) {
        const auto next = static_cast<std::size_t>(token) + 1;
        ids.back().push_back(sequence[next - 1]);
        targets.back().push_back(next < sequence.size() ? sequence[next] : -100);
      }
    }
  }

  std::vector<OwnTokens> ranks() const {
    std::vector<OwnTokens> all;
    for (std::size_t rank = 0; rank < ids.size(); ++rank)
      all.push_back({&ids[rank], &targets[rank], 1, -100});
    return all;
  }
};

const Tokens kSequence = {10, 11, 12, 13, 14, 15, 16, 17};

TEST(TokensByChain, AnyOrderOfRunsIsFound) {
  const std::vector<Tokens> tokens = {{4, 5}, {0, 1, 6, 7}, {2, 3}};
  EXPECT_EQ(tokensByChain(Dealt(kSequence, tokens).ranks()), tokens) << "also uneven shards";
}

TEST(TokensByChain, TokensWithoutTargetsContinueARun) {
  const std::vector<Tokens> tokens = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  Dealt dealt(kSequence, tokens);
  dealt.targets[0][1] = dealt.targets[0][2] = -100;
  EXPECT_EQ(tokensByChain(dealt.ranks()), tokens);
}

TEST(TokensByChain, ABorderWithoutATargetDecidesNothing) {
  Dealt dealt(kSequence, {{0, 1, 2, 3}, {4, 5, 6, 7}});
  dealt.targets[0][3] = -100;
  EXPECT_TRUE(tokensByChain(dealt.ranks()).empty());
}

TEST(TokensByChain, ATargetThatTwoRunsBeginWithIsDecidedByTheWholeChain) {
  const Tokens twice = {10, 11, 12, 10, 11, 13, 10, 11};
  const std::vector<Tokens> tokens = {{0, 1, 6, 7}, {2, 3}, {4, 5}};
  EXPECT_EQ(tokensByChain(Dealt(twice, tokens).ranks()), tokens);
}

TEST(TokensByChain, TwoWaysDecideNothing) {
  const Tokens alike = {10, 11, 12, 11, 12, 11, 12};
  EXPECT_TRUE(tokensByChain(Dealt(alike, {{0, 1}, {2, 3}, {4, 5}, {6}}).ranks()).empty());
}

TEST(TokensByChain, SequencesOfTheirOwnAreNoChain) {
  Dealt dealt(kSequence, {{0, 1, 2, 3}, {4, 5, 6, 7}});
  dealt.targets[0][3] = 99;
  EXPECT_TRUE(tokensByChain(dealt.ranks()).empty());
}

TEST(TokensByDocuments, PositionsThatBeginAgainShowDocuments) {
  // Documents of 8 and 4 tokens, of which each rank has a head and a tail.
  EXPECT_EQ(tokensByDocuments({{0, 1, 6, 7, 0, 3}, {2, 3, 4, 5, 1, 2}}),
            (std::vector<Tokens>{{0, 1, 6, 7, 8, 11}, {2, 3, 4, 5, 9, 10}}));
}

TEST(TokensByDocuments, PositionsThatAreNoDocumentsShowNothing) {
  EXPECT_TRUE(tokensByDocuments({{0, 1, 2, 3}, {0, 1, 2, 3}}).empty()) << "numbered by rank";
  EXPECT_TRUE(tokensByDocuments({{0, 1, 0}, {2, 3, 3}}).empty()) << "one document too few";
  EXPECT_TRUE(tokensByDocuments({{0, 1, 0, 1}, {3, 4, 2, 3}}).empty()) << "a token is missing";
  EXPECT_TRUE(tokensByDocuments({{0, 1, 2}, {3, 4, 5}}).empty()) << "one document is a sequence";
  EXPECT_TRUE(tokensByDocuments({{0, -1}, {1, 1}}).empty());
}

}  // namespace
}  // namespace ringscope::traces
