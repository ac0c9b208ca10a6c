// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/support/recorded_layer.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/verify/recompute/gather.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

using test::makeTrace;
using test::RecordedLayer;

const LayerPass kFirstPass{0, Layer::of(0), 0};
const std::vector<WorldRank> kBothRanks = {WorldRank::of(0), WorldRank::of(1)};

Selection everything(const LayerTensors& layer) {
  Selection all;
  for (std::int64_t b = 0; b < layer.batch; ++b)
    for (std::int64_t h = 0; h < layer.kv_heads; ++h) all.groups.push_back({b, h});
  for (std::size_t row = 0; row < layer.tokens.size(); ++row) all.rows.push_back(row);
  return all;
}

/// Returns q, k and v of two ranks with one token and one head each, unless `more` says otherwise.
std::string inputs(const std::string& more = "") {
  std::string text = "group cp 0,1\n" + more + "\n";
  for (const char* rank : {"0", "1"})
    for (const char* kind : {"q", "k", "v"})
      text += std::string("tensor ") + kind + " rank=" + rank +
              " layer=0 shape=1x1x1x2 values=" + rank + ",5\n";
  return text;
}

TEST(VerifyGatherTest, RowsOfUnevenShardsStandInTheOrderOfTheirTokens) {
  RecordedLayer recorded({{"0-1,6-8", "1-6"}});
  const auto trace = recorded.record();
  const LayerTensors layer = findLayer(*trace, kFirstPass, kBothRanks);
  ASSERT_TRUE(layer.blocking.empty()) << layer.blocking.front();
  EXPECT_TRUE(layer.missing.empty());
  ASSERT_EQ(layer.tokens.size(), 8u);
  for (std::int64_t token = 0; token < 8; ++token) {
    EXPECT_EQ(layer.tokens[static_cast<std::size_t>(token)].value(), token);
    EXPECT_EQ(layer.owners[static_cast<std::size_t>(token)].value(), token >= 1 && token < 6);
  }
  const GatheredRows q = layer.values(*trace, TensorKind::kQ, everything(layer));
  const auto expected = recorded.row(TensorKind::kQ, 0, 1, 6);
  EXPECT_EQ(std::vector<double>(expected.begin(), expected.end()),
            std::vector<double>(q.values.begin() + (8 + 6) * 8, q.values.begin() + (8 + 7) * 8))
      << "head 1, token 6";
  EXPECT_EQ(q.ranks[8 + 6], WorldRank::of(0));
}

TEST(VerifyGatherTest, ASelectionHoldsTheQueryHeadsOfItsKvHead) {
  RecordedLayer recorded({{"0-4", "4-8"}, "mask=causal", "", 2, 4, 2, 4});
  const auto trace = recorded.record();
  const LayerTensors layer = findLayer(*trace, kFirstPass, kBothRanks);
  const Selection one{{{1, 1}}, {2, 5}};
  const GatheredRows q = layer.values(*trace, TensorKind::kQ, one);
  ASSERT_EQ(q.values.size(), 2u * 2 * 4) << "two query heads, two rows";
  EXPECT_EQ(q.values[0], recorded.row(TensorKind::kQ, 1, 2, 2)[0]);
  EXPECT_EQ(q.values[3 * 4 + 1], recorded.row(TensorKind::kQ, 1, 3, 5)[1]);
  const GatheredRows k = layer.values(*trace, TensorKind::kK, one);
  ASSERT_EQ(k.values.size(), 8u * 4) << "all keys";
  EXPECT_EQ(k.values[7 * 4], recorded.row(TensorKind::kK, 1, 1, 7)[0]);
}

TEST(VerifyGatherTest, HeadsOfUlyssesAreThoseThatTheSchedulesName) {
  const auto trace = makeTrace(
      "group cp 0,1\n"
      "tensor q rank=0 layer=0 shape=1x1x2x1 values=1,2\n"
      "tensor q rank=1 layer=0 shape=1x1x2x1 values=3,4\n"
      "tensor k rank=0 layer=0 shape=1x1x2x1 values=5,6\n"
      "tensor k rank=1 layer=0 shape=1x1x2x1 values=7,8\n"
      "tensor v rank=0 layer=0 shape=1x1x2x1 values=9,10\n"
      "tensor v rank=1 layer=0 shape=1x1x2x1 values=11,12\n");
  for (const int rank : {0, 1}) {
    ScheduleRecord schedule;
    schedule.rank = WorldRank::of(rank);
    schedule.rows = {{1, 1, 1}, {0, 1, 1}};
    schedule.q_head_begin = 6 + rank;
    schedule.q_head_end = 7 + rank;
    schedule.kv_heads = {3 + rank};
    trace->add(schedule);
  }
  const LayerTensors layer = findLayer(*trace, kFirstPass, kBothRanks);
  ASSERT_TRUE(layer.blocking.empty()) << layer.blocking.front();
  EXPECT_EQ(layer.heads, 2);
  EXPECT_EQ(layer.kv_heads, 2);
  EXPECT_EQ(layer.values(*trace, TensorKind::kQ, everything(layer)).values,
            (std::vector<double>{2, 1, 4, 3}));
  EXPECT_EQ(layer.values(*trace, TensorKind::kV, everything(layer)).values,
            (std::vector<double>{10, 9, 12, 11}));
}

TEST(VerifyGatherTest, ReportsMissingValuesWithTheCaptureThatKeepsThem) {
  RecordedLayer recorded({{"0-2", "2-4", "4-6"}});
  recorded.leaveOut(TensorKind::kDk, 1);
  recorded.keepNoValues(TensorKind::kDout, 0);
  recorded.keepNoValues(TensorKind::kDout, 2);
  const LayerTensors layer = findLayer(*recorded.record(), kFirstPass,
                                       {WorldRank::of(0), WorldRank::of(1), WorldRank::of(2)});
  EXPECT_TRUE(layer.blocking.empty());
  EXPECT_EQ(layer.missing, (std::vector<std::string>{
                               "the values of dout of ranks 0, 2 were not kept; --capture "
                               "values:steps=0 keeps them",
                               "dk of rank 1 is not recorded; --capture values:steps=0 keeps "
                               "them"}));
  EXPECT_FALSE(layer.complete(TensorKind::kDk));
  EXPECT_TRUE(layer.complete(TensorKind::kDv));
}

TEST(VerifyGatherTest, WithoutAnInputNothingCanBeRecomputed) {
  RecordedLayer recorded({{"0-2", "2-4"}});
  recorded.leaveOut(TensorKind::kK, 1);
  const LayerTensors layer = findLayer(*recorded.record(), kFirstPass, kBothRanks);
  ASSERT_EQ(layer.blocking.size(), 1u);
  EXPECT_EQ(layer.blocking[0], "k of rank 1 is not recorded; --capture values:steps=0 keeps them");
}

TEST(VerifyGatherTest, WithoutShardsAndSchedulesItIsNotKnownWhichTokensTheyAre) {
  const LayerTensors layer = findLayer(*makeTrace(inputs()), kFirstPass, kBothRanks);
  ASSERT_EQ(layer.blocking.size(), 3u);
  EXPECT_EQ(layer.blocking[0],
            "it is not recorded which tokens and heads q of ranks 0, 1 is of; a shard or a "
            "schedule of each rank says so");
}

TEST(VerifyGatherTest, ATokenOfTwoOwnersDoesNotFit) {
  const auto trace =
      makeTrace(inputs("shard input_ids rank=0 tokens=4-5\nshard input_ids rank=1 tokens=4-5"));
  ASSERT_EQ(findLayer(*trace, kFirstPass, kBothRanks).blocking.size(), 1u);
  EXPECT_EQ(findLayer(*trace, kFirstPass, kBothRanks).blocking[0],
            "the recorded q, k and v of the ranks do not fit together as one layer");
}

TEST(VerifyGatherTest, ResultsOfAnotherShapeAreLeftOut) {
  const auto trace =
      makeTrace(inputs("shard input_ids rank=0 tokens=4-5\nshard input_ids rank=1 tokens=5-6\n"
                       "tensor out rank=0 layer=0 shape=1x1x1x3 values=1,2,3\n"
                       "tensor out rank=1 layer=0 shape=1x1x1x2 values=1,2"));
  const LayerTensors layer = findLayer(*trace, kFirstPass, kBothRanks);
  ASSERT_TRUE(layer.blocking.empty()) << layer.blocking.front();
  EXPECT_EQ(layer.missing.back(), "out of rank 0 does not fit the shapes of q, k and v");
  const GatheredRows out = layer.values(*trace, TensorKind::kOut, everything(layer));
  EXPECT_EQ(out.values, (std::vector<double>{0, 0, 1, 2}));
  EXPECT_TRUE(out.ranks[0].isNone());
}

TEST(VerifyGatherTest, NoMembersAndImpossibleHeadsAreNoLayer) {
  EXPECT_FALSE(findLayer(Trace(), kFirstPass, {}).blocking.empty());
  const auto trace = makeTrace(inputs());
  for (const int rank : {0, 1}) {
    ScheduleRecord schedule;
    schedule.rank = WorldRank::of(rank);
    schedule.rows = {{rank, 1, 1}};
    schedule.q_head_begin = rank == 0 ? 0 : kMaxTokens - 1;
    schedule.q_head_end = schedule.q_head_begin + 1;
    schedule.kv_heads = {rank == 0 ? 0 : std::numeric_limits<std::int64_t>::max()};
    trace->add(schedule);
  }
  EXPECT_FALSE(findLayer(*trace, kFirstPass, kBothRanks).blocking.empty());
}

TEST(VerifyGatherTest, EveryPassOfALayerThatKeptValuesIsListedOnce) {
  const auto trace = makeTrace(
      "tensor q rank=0 layer=0 shape=1x1x1x1 values=1\n"
      "tensor out rank=0 layer=0 shape=1x1x1x1 values=1\n"
      "tensor out rank=1 layer=1 shape=1x1x1x1 values=1\n"
      "tensor q rank=1 layer=0 microbatch=1 shape=1x1x1x1 values=1\n"
      "tensor q rank=1 step=1 layer=0 shape=1x1x1x1\n");
  const RecordedLayers layers = recordedLayers(*trace);
  EXPECT_EQ(layers.with_values,
            (std::vector<LayerPass>{kFirstPass, {0, Layer::of(1), 0}, {0, Layer::of(0), 1}}));
  EXPECT_EQ(layers.without_values, 1);
}

}  // namespace
}  // namespace ringscope::traces
