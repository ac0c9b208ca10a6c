// SPDX-License-Identifier: Apache-2.0
// Mistakes that show in which keys and values ranks attend, whatever the mask is.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"
#include "tests/traces/four_ranks.h"
#include "traces/analysis/doctor/block_pairing.h"
#include "traces/analysis/doctor/linear_biases.h"
#include "traces/analysis/doctor/own_documents.h"
#include "traces/analysis/doctor/repeated_keys.h"

namespace ringscope::traces {
namespace {

using test::attendAs;
using test::isEarlier;
using test::kBatch;
using test::kLength;
using test::kOwn;
using test::kRanks;
using test::Pair;
using test::recorded;
using test::RecordedLayer;

/// Returns a copy of a recording whose ranks own the last 4 of the 8 tokens that they attend.
std::shared_ptr<Trace> withFourOwnTokens(const Trace& recorded) {
  std::string text = "run cp=4 command=import\ngroup cp 0,1,2,3\nnote framework \"pytorch\"\n";
  for (int rank = 0; rank < kRanks; ++rank)
    text += "shard latents rank=" + std::to_string(rank) + " tokens=" + std::to_string(4 * rank) +
            "-" + std::to_string(4 * rank + 4) + "\n";
  auto trace = test::makeTrace(text);
  for (const TensorRecord& tensor : recorded.tensors()) {
    const auto values = recorded.values(tensor);
    std::vector<float> numbers(values->begin(), values->end());
    Bytes bytes(numbers.size() * sizeof(float));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    test::addTensor(*trace, tensor, std::move(bytes));
  }
  return trace;
}

TEST(RepeatedKeysTest, CommonKeysBesideOwnTokensThatCountOncePerRankAreFound) {
  const auto counted = [](bool once, bool beside_own = true) {
    RecordedLayer layer(test::jobOfFourRanks());
    for (const TensorKind kind : {TensorKind::kK, TensorKind::kV})
      for (std::int64_t batch = 0; batch < kBatch; ++batch)
        for (std::int64_t head = 0; head < 2; ++head)
          for (std::int64_t token = kOwn; token < kLength; ++token)
            if (token % kOwn < 4)
              std::ranges::copy(layer.row(kind, batch, head, token % kOwn),
                                layer.row(kind, batch, head, token).begin());
    attendAs(layer,
             [&](const Pair& pair) { return !once || pair.key < kOwn || pair.key % kOwn >= 4; });
    const auto trace = layer.record();
    return keysCountedOnEveryRank(beside_own ? *withFourOwnTokens(*trace) : *trace);
  };
  const auto finding = counted(false);
  ASSERT_TRUE(finding);
  EXPECT_TRUE(test::says(*finding, "first 4 tokens")) << finding->evidence;
  EXPECT_FALSE(counted(true));
  EXPECT_FALSE(counted(false, false)) << "each rank's own tokens begin with the same ones";
  EXPECT_FALSE(
      keysCountedOnEveryRank(*withFourOwnTokens(*recorded([](const Pair&) { return true; }))))
      << "no keys are common";
}

TEST(OwnDocumentsTest, AttentionOfOwnTokensAloneShowsThem) {
  const auto own = [](const test::Attends& attends) {
    const auto trace = recorded(attends);
    std::vector<WorldRank> members;
    for (int rank = 0; rank < kRanks; ++rank) members.push_back(WorldRank::of(rank));
    return mayHaveOwnDocuments(*trace, 0, members);
  };
  EXPECT_TRUE(own([](const Pair& pair) { return pair.query / kOwn == pair.key / kOwn; }));
  EXPECT_TRUE(own(
      [](const Pair& pair) { return isEarlier(pair) && pair.query / kOwn == pair.key / kOwn; }));
  EXPECT_FALSE(own(isEarlier));
  EXPECT_FALSE(own([](const Pair& pair) {
    return isEarlier(pair) && (pair.query / kOwn == pair.key / kOwn || pair.query > 24);
  })) << "one rank attends others";
}

TEST(BlockPairingTest, ValuesThatAreBehindTheirKeysAreFound) {
  const auto behind = [](std::int64_t steps) {
    RecordedLayer layer(test::jobOfFourRanks());
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
  const auto attended = [](bool mutual, bool next_tokens = true, std::int64_t period = kLength) {
    const auto trace = recorded([mutual](const Pair& pair) {
      const bool of_later = pair.query / 4 == 2 && pair.key / 4 == 7;
      return isEarlier(pair) || (mutual && of_later);
    });
    if (next_tokens) test::addNextTokens(*trace);
    test::addPositions(*trace, [&](std::int64_t token) { return token % period; });
    return partsAttendEachOther(Readings(*trace));
  };
  const auto finding = attended(true);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->rank, WorldRank::of(3));
  EXPECT_FALSE(attended(false));
  EXPECT_FALSE(attended(true, false)) << "nothing shows that the sequence is causal";
  EXPECT_FALSE(attended(true, true, kOwn)) << "parallel sequences, one per rank";
}

TEST(LinearBiasesTest, DistancesOfLocalIndicesAreFound) {
  const auto biased = [](bool locally, double slope) {
    RecordedLayer layer(test::jobOfFourRanks());
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
