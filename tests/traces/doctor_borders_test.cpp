// SPDX-License-Identifier: Apache-2.0
// Positions and attention that begin again at the borders of shards.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"
#include "tests/traces/four_ranks.h"
#include "traces/analysis/doctor/shard_borders.h"
#include "traces/analysis/doctor/shared_positions.h"

namespace ringscope::traces {
namespace {

using test::Attends;
using test::isEarlier;
using test::kOwn;
using test::OfToken;
using test::Pair;

/// Two documents, of which the second begins within the second rank's shard.
constexpr std::int64_t kSecond = 12;
std::int64_t placeInDocument(std::int64_t token) {
  return token < kSecond ? token : token - kSecond;
}
bool isInDocument(const Pair& pair) {
  return isEarlier(pair) && (pair.query < kSecond) == (pair.key < kSecond);
}
/// Counts the tokens of each rank's part of a document.
std::int64_t placeInShard(std::int64_t token) {
  return token >= 16 ? (token - 16) % 16 : placeInDocument(token);
}

std::optional<Finding> restarts(const Attends& attends, const OfToken& position) {
  const auto trace = test::recorded(attends);
  test::addPositions(*trace, position);
  return positionsRestartAtShards(Readings(*trace));
}

TEST(ShardBordersTest, PositionsThatRestartWhereAttentionGoesOnAreFound) {
  const auto finding = restarts(isInDocument, placeInShard);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->rank, WorldRank::of(2));
  EXPECT_EQ(finding->confidence, Confidence::kLikely);
  EXPECT_TRUE(test::says(*finding, "token 16")) << finding->evidence;
}

TEST(ShardBordersTest, PositionsOfDocumentsAreNoMistake) {
  EXPECT_FALSE(restarts(isInDocument, placeInDocument));
  EXPECT_FALSE(restarts(isEarlier, placeInShard)) << "documents may be packed without a mask";
  EXPECT_FALSE(restarts(
      [](const Pair& pair) { return isInDocument(pair) && (pair.query < 16 || pair.key >= 16); },
      placeInShard))
      << "three documents";
  EXPECT_FALSE(restarts(isEarlier, [](std::int64_t token) { return token % kOwn; }))
      << "documents as long as shards, packed without a mask";
  EXPECT_FALSE(restarts(isEarlier, [](std::int64_t token) {
    return token < 8 ? token : token - 8;
  })) << "documents of one shard and of three";
}

TEST(ShardBordersTest, AttentionThatEndsWherePositionsGoOnIsFoundUnderADocumentMask) {
  const auto ends = [](const Attends& attends, bool stated) {
    test::LayerSpec spec = test::jobOfFourRanks();
    if (stated) spec.intent = "mask=documents documents=0-12,12-32\nnote framework \"pytorch\"";
    const auto trace = test::recorded(attends, spec);
    test::addPositions(*trace, placeInDocument);
    return attentionEndsAtShards(Readings(*trace));
  };
  const Attends in_shard = [](const Pair& pair) {
    return isInDocument(pair) && pair.query / 8 == pair.key / 8;
  };
  const auto finding = ends(in_shard, true);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->rank, WorldRank::of(1));
  EXPECT_FALSE(ends(isInDocument, true));
  EXPECT_FALSE(ends(in_shard, false)) << "chunks as long as a shard may be meant";
}

TEST(SharedPositionsTest, EqualPositionsOfThreeAxesAreFoundUnderCausalAttention) {
  const auto equal = [](const Attends& attends, const OfToken& position, int axes = 3) {
    const auto trace = test::recorded(attends);
    test::addNumbers(*trace, {TensorKind::kPositionIds}, position, axes, true);
    return equalPositionsOfAxes(Readings(*trace));
  };
  const OfToken in_shard = [](std::int64_t token) { return token % kOwn; };
  const auto finding = equal(isEarlier, in_shard);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->rank, WorldRank::of(1));
  EXPECT_FALSE(equal(isEarlier, [](std::int64_t token) { return token; }))
      << "positions of the sequence";
  EXPECT_FALSE(equal(
      [](const Pair& pair) { return isEarlier(pair) && pair.query / 8 == pair.key / 8; }, in_shard))
      << "a sequence on each rank";
  EXPECT_FALSE(equal(isEarlier, in_shard, 2)) << "rows and columns of frames";
  EXPECT_FALSE(equal(isEarlier, [](std::int64_t token) { return token % kOwn / 4; }))
      << "frames without text";
}

}  // namespace
}  // namespace ringscope::traces
