// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/balance_choices.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/support/expect_error.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {
namespace {

using Lengths = std::vector<std::int64_t>;

BalanceChoice find(const std::string& title, std::int64_t block) {
  for (const BalanceChoice& choice : balanceChoices(block, block))
    if (choice.title == title) return choice;
  ADD_FAILURE() << "no balance " << title;
  return {};
}

/// Returns the blocks of each rank, in local order.
std::vector<Lengths> blocksByRank(const DealtDocuments& dealt, std::int64_t block) {
  std::vector<Lengths> blocks;
  for (const std::vector<ShardRun>& shard : dealt.shards) {
    blocks.emplace_back();
    for (const ShardRun& run : shard) blocks.back().push_back(run.begin / block);
  }
  return blocks;
}

Lengths workByRank(const PairTable& pairs) {
  Lengths work;
  for (const Lengths& row : pairs)
    work.push_back(std::accumulate(row.begin(), row.end(), std::int64_t{0}));
  return work;
}

/// Counts by looking at every pair of tokens.
PairTable countedPairs(const DealtDocuments& dealt) {
  const std::size_t ranks = dealt.shards.size();
  std::vector<std::size_t> owner(static_cast<std::size_t>(dealt.length));
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (const ShardRun& run : dealt.shards[rank])
      for (std::int64_t i = 0; i < run.count; ++i)
        owner[static_cast<std::size_t>(run.global(i))] = rank;
  PairTable pairs(ranks, Lengths(ranks, 0));
  for (const TokenRun& document : dealt.documents)
    for (auto q = static_cast<std::size_t>(document.begin);
         q < static_cast<std::size_t>(document.end); ++q)
      for (auto k = static_cast<std::size_t>(document.begin); k <= q; ++k)
        ++pairs[owner[q]][owner[k]];
  return pairs;
}

/// One deal by _PTRRLoadBalancer of PyTorch 2.11.
struct PyTorchDeal {
  Lengths documents;
  std::int32_t cp;
  std::int64_t block;
  std::vector<Lengths> blocks;  ///< by rank
  Lengths work;                 ///< attended pairs by rank
};

// Computed by create_block_mask() with mask_mod(q, k) = "q ≥ k, in one document, no padding" and
// BLOCK_SIZE = block, then _PTRRLoadBalancer(block_mask, cp)._generate_indices(). The sequence is
// padded to a multiple of block × cp. `work` counts the pairs of each rank's tokens.
const PyTorchDeal kPyTorchDeals[] = {
    {{512, 1024, 512},
     2,
     128,
     {{2, 3, 5, 6, 8, 11, 12, 13}, {0, 1, 4, 7, 9, 10, 14, 15}},
     {393728, 393728}},
    {{300, 77, 1, 650, 500},
     4,
     128,
     {{1, 8, 10}, {3, 4, 7}, {2, 6, 9}, {0, 5, 11}},
     {75496, 108992, 97583, 102908}},
    {{2048},
     4,
     128,
     {{0, 7, 8, 15}, {1, 6, 9, 14}, {2, 5, 10, 13}, {3, 4, 11, 12}},
     {524544, 524544, 524544, 524544}},
    {{16, 16, 16, 16, 16, 16,   16, 16, 16, 16, 16, 16, 16, 16, 16,
      16, 16, 16, 16, 16, 1000, 3,  3,  3,  3,  3,  3,  3,  3,  3},
     3,
     128,
     {{4, 5, 10, 11}, {2, 3, 6, 9}, {0, 1, 7, 8}},
     {121322, 199424, 182528}},
    {{5, 40, 7, 90, 33, 2, 61},
     2,
     16,
     {{1, 2, 8, 9, 11, 13, 14, 15}, {0, 3, 4, 5, 6, 7, 10, 12}},
     {3617, 3796}},
    {{100, 23, 5},
     8,
     4,
     {{8, 9, 24, 25},
      {0, 7, 10, 23},
      {6, 11, 22, 31},
      {5, 12, 21, 26},
      {1, 13, 20, 30},
      {4, 14, 19, 27},
      {2, 15, 18, 29},
      {3, 16, 17, 28}},
     {696, 680, 668, 664, 641, 664, 664, 664}}};

TEST(BalanceChoicesTest, PtrrDealsAsPyTorchDoes) {
  for (const PyTorchDeal& torch : kPyTorchDeals) {
    const BalanceChoice ptrr = find("ptrr", torch.block);
    EXPECT_EQ(blocksByRank(dealDocuments(ptrr, torch.documents, torch.cp), torch.block),
              torch.blocks);
    EXPECT_EQ(workByRank(dealtWork(ptrr, torch.documents, torch.cp).pairs), torch.work);
  }
}

TEST(BalanceChoicesTest, TheEngineDealsTheBlocksThatPyTorchDoes) {
  const std::vector<TokenRun> documents = {{0, 512}, {512, 1536}, {1536, 2048}};
  const ShardLayout layout(2048, 2, Balance::kPtrr, documents);
  using Runs = std::vector<ShardRun>;
  EXPECT_EQ(layout.shard(GroupRank::of(0)),
            (Runs{{256, 256, 1}, {640, 256, 1}, {1024, 128, 1}, {1408, 384, 1}}));
  EXPECT_EQ(layout.shard(GroupRank::of(1)),
            (Runs{{0, 256, 1}, {512, 128, 1}, {896, 128, 1}, {1152, 256, 1}, {1792, 256, 1}}));
}

TEST(BalanceChoicesTest, TheEngineMakesBlocksSmallerThatDoNotDivideAmongTheRanks) {
  const ShardLayout layout(48, 2, Balance::kPtrr, {{0, 48}});
  // Blocks of 8 tokens with 1 to 6 key blocks: ranks 0, 1, 1, 0, 0, 1 from the last one on.
  EXPECT_EQ(layout.runs(GroupRank::of(0)), (std::vector<TokenRun>{{8, 24}, {40, 48}}));
  EXPECT_EQ(layout.runs(GroupRank::of(1)), (std::vector<TokenRun>{{0, 8}, {24, 40}}));
}

TEST(BalanceChoicesTest, TheEngineDealsByWorkOnlyWhereThereAreDocuments) {
  EXPECT_ERROR(ShardLayout(16, 2, Balance::kPtrr), ErrorCode::kUsage, "ptrr deals documents");
}

TEST(BalanceChoicesTest, ChunksGoToTheRankWithTheLeastWorkThatHasRoom) {
  // One document of 8 tokens in chunks of 2 has the work 3, 7, 11, 15. Chunk 3 goes to rank 0,
  // chunk 2 to rank 1, chunk 1 to rank 1 (11 < 15), and only rank 0 has room for chunk 0.
  const DealtDocuments dealt = dealDocuments(find("chunks", 2), {8}, 2);
  EXPECT_EQ(blocksByRank(dealt, 2), (std::vector<Lengths>{{0, 3}, {1, 2}}));
  // The work 6, 22, 1, 1 (with padding): rank 0 gets chunks 1 and 3, although rank 1 has less work.
  const DealtDocuments full = dealDocuments(find("chunks", 4), {7, 1, 1, 1}, 2);
  EXPECT_EQ(full.length, 16);
  EXPECT_EQ(blocksByRank(full, 4), (std::vector<Lengths>{{1, 3}, {0, 2}}));
}

TEST(BalanceChoicesTest, EachBalancePadsWhatItDeals) {
  // Documents of 5, 3 and 9 tokens over 2 ranks: 17 tokens, in halves or in quarters.
  const auto padding = [](const char* title) {
    return dealtWork(find(title, 8), {5, 3, 9}, 2).padding;
  };
  EXPECT_EQ(padding("none"), 1);
  EXPECT_EQ(padding("striped"), 1);
  EXPECT_EQ(padding("head_tail"), 3);
  EXPECT_EQ(padding("per_document"), 3 + 1 + 3);
  EXPECT_EQ(padding("ptrr"), 15);
  EXPECT_EQ(padding("chunks"), 15);
}

TEST(BalanceChoicesTest, PairsOfTwoDocumentsAreThoseCountedByHand) {
  // Tokens 0 1 2 3 | 4 5 6 7 8 9 10 11 over 2 ranks. Contiguous: rank 0 has tokens 0 to 5.
  EXPECT_EQ(dealtWork(find("none", 1), {4, 8}, 2).pairs, (PairTable{{10 + 3, 0}, {12, 21}}));
  // Striped: in the document of 4, rank 0 has its tokens 0 and 2, which see themselves.
  EXPECT_EQ(dealtWork(find("striped", 1), {4}, 2).pairs, (PairTable{{3, 1}, {3, 3}}));
  // Per document: rank 0 has tokens 0 and 3 of the document of 4; rank 1 has 1 and 2.
  EXPECT_EQ(dealtWork(find("per_document", 1), {4, 4}, 2).pairs, (PairTable{{6, 4}, {4, 6}}));
}

TEST(BalanceChoicesTest, EveryTokenHasOneOwnerAndEveryPairIsCounted) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const auto cp = static_cast<std::int32_t>(1 + random() % 8);
    Lengths lengths(1 + random() % 9);
    std::int64_t all_pairs = 0;
    for (std::int64_t& length : lengths) {
      length = static_cast<std::int64_t>(1 + random() % (round % 2 == 0 ? 7 : 90));
      all_pairs += length * (length + 1) / 2;
    }
    for (const BalanceChoice& choice : balanceChoices(4, 6)) {
      SCOPED_TRACE(choice.title + ", cp " + std::to_string(cp) + ", round " +
                   std::to_string(round));
      const DealtDocuments dealt = dealDocuments(choice, lengths, cp);
      std::vector<int> owners(static_cast<std::size_t>(dealt.length), 0);
      for (const std::vector<ShardRun>& shard : dealt.shards) {
        std::int64_t tokens = 0;
        for (const ShardRun& run : shard) {
          tokens += run.count;
          for (std::int64_t i = 0; i < run.count; ++i)
            ++owners[static_cast<std::size_t>(run.global(i))];
        }
        EXPECT_EQ(tokens, dealt.length / cp);
      }
      EXPECT_EQ(owners, std::vector<int>(owners.size(), 1));
      const DealtWork work = dealtWork(choice, lengths, cp);
      EXPECT_EQ(work.pairs, countedPairs(dealt));
      EXPECT_EQ(work.length, dealt.length);
      EXPECT_EQ(pairShares(work.pairs).total, all_pairs);
    }
  }
}

TEST(BalanceChoicesTest, SharesOfARingCountTheSlowestRankOfEachStep) {
  // Step 0 is the diagonal; in step 1 rank 0 attends the block of rank 1, and rank 1 that of 0.
  const PairShares shares = pairShares({{10, 1}, {12, 21}});
  EXPECT_EQ(shares.total, 44);
  EXPECT_EQ(shares.largest, 33);
  EXPECT_EQ(shares.largest_of_steps, 21 + 12);
}

TEST(BalanceChoicesTest, RejectsSizesBelowOne) {
  const BalanceChoice ptrr = find("ptrr", 128);
  EXPECT_ERROR(dealDocuments(ptrr, {4, 0}, 2), ErrorCode::kUsage, "a document of 0 tokens");
  EXPECT_ERROR(dealDocuments(ptrr, {}, 2), ErrorCode::kUsage, "there are no documents");
  EXPECT_ERROR(dealDocuments(ptrr, {4}, 0), ErrorCode::kUsage, "cp must be at least 1");
  EXPECT_ERROR(dealDocuments(find("chunks", 0), {4}, 2), ErrorCode::kUsage, "a block of 0 tokens");
}

}  // namespace
}  // namespace ringscope::traces
