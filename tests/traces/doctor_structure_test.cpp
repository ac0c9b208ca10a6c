// SPDX-License-Identifier: Apache-2.0
// Mistakes that show in which keys and values ranks attend, whatever the mask is.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "tests/support/recorded_layer.h"
#include "tests/traces/doctor_answers.h"
#include "traces/analysis/doctor/block_pairing.h"
#include "traces/analysis/doctor/linear_biases.h"
#include "traces/analysis/doctor/repeated_keys.h"
#include "traces/analysis/doctor/shard_borders.h"
#include "traces/analysis/doctor/shared_positions.h"

namespace ringscope::traces {
namespace {

using test::RecordedLayer;

constexpr std::int64_t kRanks = 4, kOwn = 8, kLength = kRanks * kOwn, kWidth = 8, kBatch = 2;

test::LayerSpec jobOfFourRanks() {
  test::LayerSpec spec{{"0-8", "8-16", "16-24", "24-32"}};
  spec.run = "command=import";
  spec.intent = "mask=causal\nnote framework \"pytorch\"";
  spec.batch = kBatch;
  return spec;
}

/// A query and a key, by their tokens.
struct Pair {
  std::int64_t batch, query, key;
};
using Attends = std::function<bool(const Pair&)>;

bool isEarlier(const Pair& pair) {
  return pair.key <= pair.query;
}

/// Makes a layer whose output is attention of the keys that `attends` allows, with the values of
/// the token that `value` gives for a key.
void attendAs(
    RecordedLayer& layer, const Attends& attends,
    const std::function<std::int64_t(const Pair&)>& value =
        [](const Pair& pair) { return pair.key; },
    const std::function<double(const Pair&)>& bias = [](const Pair&) { return 0; }) {
  for (std::int64_t batch = 0; batch < kBatch; ++batch)
    for (std::int64_t head = 0; head < 2; ++head)
      for (std::int64_t query = 0; query < kLength; ++query) {
        const auto q = layer.row(TensorKind::kQ, batch, head, query);
        std::vector<double> sum(kWidth);
        double total = 0;
        for (std::int64_t key = 0; key < kLength; ++key) {
          const Pair pair{batch, query, key};
          if (!attends(pair)) continue;
          const auto k = layer.row(TensorKind::kK, batch, head, key),
                     v = layer.row(TensorKind::kV, batch, head, value(pair));
          double score = 0;
          for (std::size_t d = 0; d < kWidth; ++d) score += q[d] * k[d];
          const double weight =
              std::exp(score / std::sqrt(static_cast<double>(kWidth)) + bias(pair));
          total += weight;
          for (std::size_t d = 0; d < kWidth; ++d) sum[d] += weight * v[d];
        }
        const auto out = layer.row(TensorKind::kOut, batch, head, query);
        for (std::size_t d = 0; d < kWidth; ++d) out[d] = total > 0 ? sum[d] / total : 0;
      }
}

/// Adds position ids of all ranks, which `position` gives for a token. With `axes`, these are the
/// same on each of three axes.
void addPositions(Trace& trace, const std::function<std::int64_t(std::int64_t)>& position,
                  bool axes = false) {
  for (std::int64_t rank = 0; rank < kRanks; ++rank) {
    std::vector<std::int64_t> ids;
    for (int axis = 0; axis < (axes ? 3 : 1); ++axis)
      for (std::int64_t token = rank * kOwn; token < (rank + 1) * kOwn; ++token)
        ids.push_back(position(token));
    TensorRecord tensor;
    tensor.tensor.kind = TensorKind::kPositionIds;
    tensor.rank = WorldRank::of(static_cast<std::int32_t>(rank));
    tensor.dtype = DType::kInt64;
    tensor.shape = {1, kOwn};
    if (axes) tensor.shape = {3, 1, kOwn};
    tensor.stats.min = static_cast<double>(ids.front());
    tensor.stats.max = static_cast<double>(ids.back());
    tensor.hash = static_cast<std::uint64_t>(ids.front() + 1);
    Bytes bytes(ids.size() * sizeof(std::int64_t));
    std::memcpy(bytes.data(), ids.data(), bytes.size());
    test::addTensor(trace, tensor, std::move(bytes));
  }
}

std::shared_ptr<Trace> recorded(const Attends& attends) {
  RecordedLayer layer(jobOfFourRanks());
  attendAs(layer, attends);
  return layer.record();
}

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

std::optional<Finding> restarts(const Attends& attends,
                                const std::function<std::int64_t(std::int64_t)>& position) {
  const auto trace = recorded(attends);
  addPositions(*trace, position);
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
}

TEST(ShardBordersTest, AttentionThatEndsWherePositionsGoOnIsFound) {
  const auto ends = [](const Attends& attends) {
    const auto trace = recorded(attends);
    addPositions(*trace, placeInDocument);
    return attentionEndsAtShards(Readings(*trace));
  };
  const auto finding =
      ends([](const Pair& pair) { return isInDocument(pair) && pair.query / 8 == pair.key / 8; });
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->rank, WorldRank::of(1));
  EXPECT_FALSE(ends(isInDocument));
  EXPECT_FALSE(ends([](const Pair& pair) {
    return isEarlier(pair) && pair.query / 8 == pair.key / 8;
  })) << "attention of blocks, where nothing shows documents";
}

TEST(SharedPositionsTest, EqualPositionsOfThreeAxesAreFoundUnderCausalAttention) {
  const auto equal = [](const Attends& attends, std::int64_t period) {
    const auto trace = recorded(attends);
    addPositions(
        *trace, [&](std::int64_t token) { return token % period; }, true);
    return equalPositionsOfAxes(Readings(*trace));
  };
  const auto finding = equal(isEarlier, kOwn);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->rank, WorldRank::of(1));
  EXPECT_FALSE(equal(isEarlier, kLength)) << "positions of the sequence";
  EXPECT_FALSE(equal(
      [](const Pair& pair) { return isEarlier(pair) && pair.query / 8 == pair.key / 8; }, kOwn))
      << "a sequence on each rank";
}

TEST(RepeatedKeysTest, CommonKeysThatCountOncePerRankAreFound) {
  const auto counted = [](bool once) {
    RecordedLayer layer(jobOfFourRanks());
    for (const TensorKind kind : {TensorKind::kK, TensorKind::kV})
      for (std::int64_t batch = 0; batch < kBatch; ++batch)
        for (std::int64_t head = 0; head < 2; ++head)
          for (std::int64_t token = kOwn; token < kLength; ++token)
            if (token % kOwn < 4)
              std::ranges::copy(layer.row(kind, batch, head, token % kOwn),
                                layer.row(kind, batch, head, token).begin());
    attendAs(layer,
             [&](const Pair& pair) { return !once || pair.key < kOwn || pair.key % kOwn >= 4; });
    return keysCountedOnEveryRank(*layer.record());
  };
  const auto finding = counted(false);
  ASSERT_TRUE(finding);
  EXPECT_TRUE(test::says(*finding, "first 4 tokens")) << finding->evidence;
  EXPECT_FALSE(counted(true));
  EXPECT_FALSE(keysCountedOnEveryRank(*recorded([](const Pair&) { return true; })))
      << "no keys are common";
}

TEST(BlockPairingTest, ValuesThatAreBehindTheirKeysAreFound) {
  const auto behind = [](std::int64_t steps) {
    RecordedLayer layer(jobOfFourRanks());
    attendAs(
        layer, [](const Pair&) { return true; },
        [&](const Pair& pair) {
          const std::int64_t own = pair.query / kOwn,
                             step = (own + kRanks - pair.key / kOwn) % kRanks;
          const std::int64_t of = step == 0 ? 0 : step - steps;
          return (own + kRanks - of) % kRanks * kOwn + pair.key % kOwn;
        });
    return valuesBehindKeys(*layer.record());
  };
  const auto finding = behind(1);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->buffer, "v");
  EXPECT_FALSE(behind(0));
  EXPECT_FALSE(valuesBehindKeys(*recorded(isEarlier)));
}

TEST(BlockPairingTest, AMaskOfOwnPaddingOnAllBlocksIsFound) {
  const auto kept = [](std::int64_t token) { return token < 20; };
  const auto padded = [&](bool of_query) {
    return ownMaskOnAllBlocks(*recorded([&, of_query](const Pair& pair) {
      const std::int64_t place = of_query ? pair.query / kOwn * kOwn + pair.key % kOwn : pair.key;
      return pair.batch == 0 || kept(place);
    }));
  };
  const auto finding = padded(true);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->rank, WorldRank::of(2));
  EXPECT_TRUE(test::says(*finding, "the first 4 of the 8 keys")) << finding->evidence;
  EXPECT_FALSE(padded(false));
}

TEST(BlockPairingTest, PartsThatAttendEachOtherAreFound) {
  const auto attended = [](bool mutual) {
    return partsAttendEachOther(*recorded([mutual](const Pair& pair) {
      const bool of_later = pair.query / 4 == 2 && pair.key / 4 == 7;
      return isEarlier(pair) || (mutual && of_later);
    }));
  };
  const auto finding = attended(true);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->rank, WorldRank::of(3));
  EXPECT_FALSE(attended(false));
  EXPECT_FALSE(partsAttendEachOther(*recorded([](const Pair&) { return true; })))
      << "no causal attention";
}

TEST(LinearBiasesTest, DistancesOfLocalIndicesAreFound) {
  const auto biased = [](bool locally, double slope) {
    RecordedLayer layer(jobOfFourRanks());
    attendAs(
        layer, isEarlier, [](const Pair& pair) { return pair.key; },
        [&](const Pair& pair) {
          const std::int64_t apart =
              locally ? pair.query % kOwn - pair.key % kOwn : pair.query - pair.key;
          return -slope * static_cast<double>(apart);
        });
    return ringOfLocalDistances(*layer.record());
  };
  const auto finding = biased(true, 0.25);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->rank, WorldRank::of(1));
  EXPECT_FALSE(biased(false, 0.25));
  EXPECT_FALSE(biased(true, 0)) << "attention without biases";
}

}  // namespace
}  // namespace ringscope::traces
