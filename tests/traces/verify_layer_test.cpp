// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/recorded_layer.h"
#include "traces/analysis/verify/layer_check.h"

namespace ringscope::traces {
namespace {

using test::LayerSpec;
using test::RecordedLayer;

constexpr double kPlenty = 1e12;
const LayerPass kPass{0, Layer::of(0), 0};
const std::vector<std::string> kHeadTail = {"0-8,56-64", "8-16,48-56", "16-24,40-48", "24-40"};

LayerCheck check(const Trace& trace, double work = kPlenty) {
  std::vector<WorldRank> members;
  for (int rank = 0; rank < trace.worldSize(); ++rank) members.push_back(WorldRank::of(rank));
  return checkLayer(trace, kPass, members, work);
}

TensorCheck of(const LayerCheck& layer, TensorKind kind) {
  for (const TensorCheck& tensor : layer.tensors)
    if (tensor.kind == kind) return tensor;
  ADD_FAILURE() << name(kind) << " was not compared";
  return {};
}

struct Named {
  const char* name;
  LayerSpec spec;
};

std::vector<Named> correctLayers() {
  LayerSpec bf16{kHeadTail}, half_heads{kHeadTail}, wide{kHeadTail}, fp64{kHeadTail};
  bf16.dtype = DType::kBFloat16;
  bf16.head_dim = 32;
  half_heads.heads = 6;
  half_heads.batch = 2;
  wide.spread = 30;
  fp64.dtype = DType::kFloat64;
  LayerSpec bf16_wide = bf16, bf16_gqa = bf16;
  bf16_wide.spread = 10;
  bf16_gqa.heads = 8;
  bf16_gqa.intent = "mask=documents documents=0-20,20-21,25-64";
  LayerSpec sinks{kHeadTail}, bf16_sinks = bf16_gqa;
  sinks.sinks = {-1, 2.5};
  bf16_sinks.sinks = {-40, -3, -1, 0, 0.5, 1, 4, 40};
  return {{"HeadTail", {kHeadTail}},
          {"FullMask", {kHeadTail, "mask=full"}},
          {"Window", {kHeadTail, "mask=window window=5"}},
          {"Documents", {kHeadTail, "mask=documents documents=0-20,20-21,25-60"}},
          {"GroupedHeads", half_heads},
          {"WideScores", wide},
          {"Float64", fp64},
          {"OneRank", {{"0-24"}}},
          {"OneToken", {{"0-1"}}},
          {"OneTokenARank", {{"0-1", "1-2", "2-3"}}},
          {"UnevenShards", {{"0-1,30-33", "1-20", "20-30"}}},
          {"HeadSizeOfOne", {kHeadTail, "mask=causal", "", 1, 2, 2, 1}},
          {"BFloat16", bf16},
          {"BFloat16WideScores", bf16_wide},
          {"BFloat16GroupedDocuments", bf16_gqa},
          {"Sinks", sinks},
          {"BFloat16GroupedDocumentsAndSinks", bf16_sinks}};
}

class CorrectLayerTest : public testing::TestWithParam<Named> {};

TEST_P(CorrectLayerTest, IsWithinItsLimits) {
  const LayerCheck layer = check(*RecordedLayer(GetParam().spec).record());
  EXPECT_TRUE(layer.skipped.empty()) << layer.skipped.front();
  ASSERT_EQ(layer.tensors.size(), 5u);
  for (const TensorCheck& tensor : layer.tensors) {
    EXPECT_LE(tensor.worst.ratio(), 1)
        << name(tensor.kind) << ", token " << tensor.worst.token.value();
    EXPECT_GT(tensor.rows, 0);
    EXPECT_EQ(tensor.not_finite, 0);
    EXPECT_TRUE(tensor.wrong_ranks.empty());
    RecordProperty(name(tensor.kind), std::to_string(tensor.worst.ratio()));
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, CorrectLayerTest, testing::ValuesIn(correctLayers()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(VerifySinksTest, UnknownSinksPreventTheCheckOfTheWholeLayer) {
  LayerSpec spec{kHeadTail};
  spec.sinks = {-1, 2.5};
  RecordedLayer layer(spec);
  layer.leaveOut(TensorKind::kSinks, 2);
  const LayerCheck of_one = check(*layer.record());
  EXPECT_TRUE(of_one.tensors.empty());
  ASSERT_EQ(of_one.skipped.size(), 1U);
  EXPECT_NE(of_one.skipped[0].find("sinks of rank 2 are not recorded"), std::string::npos);
  spec.sinks.clear();
  spec.run = "sinks=true";  // declared, but not recorded
  const LayerCheck of_all = check(*RecordedLayer(spec).record());
  ASSERT_EQ(of_all.skipped.size(), 1U);
  EXPECT_NE(of_all.skipped[0].find("sinks of ranks 0, 1, 2, 3"), std::string::npos);
}

TEST(VerifySinksTest, DetectsUndeclaredAndUnrecordedSinks) {
  LayerSpec spec{kHeadTail};
  spec.sinks = {-1, 2.5};
  RecordedLayer layer(spec);
  for (int rank = 0; rank < 4; ++rank) layer.leaveOut(TensorKind::kSinks, rank);
  EXPECT_GT(of(check(*layer.record()), TensorKind::kOut).worst.ratio(), 10);
}

/// Ways to spoil one row: it becomes another row, or slightly wrong.
enum class Spoil { kZeroed, kSwapped, kScaled, kOtherHead };

struct Spoilt {
  const char* name;
  DType dtype;
  TensorKind kind;
  Spoil spoil;
};

std::vector<Spoilt> spoiltRows() {
  const std::pair<const char*, Spoil> spoils[] = {{"Zeroed", Spoil::kZeroed},
                                                  {"Swapped", Spoil::kSwapped},
                                                  {"OnePercentLarger", Spoil::kScaled},
                                                  {"OfAnotherHead", Spoil::kOtherHead}};
  std::vector<Spoilt> all;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16})
    for (const TensorKind kind :
         {TensorKind::kOut, TensorKind::kLse, TensorKind::kDq, TensorKind::kDk, TensorKind::kDv})
      for (const auto& [name, spoil] : spoils) {
        // In bfloat16 one per cent of a row is two to three roundings of each number.
        const bool below_rounding = dtype == DType::kBFloat16 && kind != TensorKind::kLse;
        if (spoil == Spoil::kScaled && below_rounding) continue;
        all.push_back({name, dtype, kind, spoil});
      }
  return all;
}

class SpoiltRowTest : public testing::TestWithParam<Spoilt> {};

TEST_P(SpoiltRowTest, IsFoundWhereItIs) {
  const Spoilt& spoilt = GetParam();
  LayerSpec spec{kHeadTail};
  spec.dtype = spoilt.dtype;
  spec.head_dim = 16;
  RecordedLayer layer(spec);
  constexpr std::int64_t kToken = 13;  // owned by rank 1
  const auto row = layer.row(spoilt.kind, 0, 1, kToken);
  const auto other = spoilt.spoil == Spoil::kOtherHead ? layer.row(spoilt.kind, 0, 0, kToken)
                                                       : layer.row(spoilt.kind, 0, 1, 14);
  for (std::size_t d = 0; d < row.size(); ++d) {
    if (spoilt.spoil == Spoil::kZeroed) row[d] = 0;
    if (spoilt.spoil == Spoil::kScaled) row[d] *= 1.01;
    if (spoilt.spoil == Spoil::kOtherHead) row[d] = other[d];
    if (spoilt.spoil == Spoil::kSwapped) std::swap(row[d], other[d]);
  }
  const LayerCheck result = check(*layer.record());
  for (const TensorCheck& tensor : result.tensors)
    EXPECT_EQ(tensor.worst.ratio() > 1, tensor.kind == spoilt.kind) << name(tensor.kind);
  const TensorCheck found = of(result, spoilt.kind);
  EXPECT_EQ(found.worst.head, 1);
  EXPECT_EQ(found.worst.rank.value(), 1);
  EXPECT_EQ(found.wrong_ranks, std::vector{WorldRank::of(1)});
  const bool swapped = spoilt.spoil == Spoil::kSwapped && found.worst.token.value() == 14;
  EXPECT_TRUE(found.worst.token.value() == kToken || swapped) << found.worst.token.value();
  EXPECT_EQ(std::ranges::count_if(found.ratios, [](float ratio) { return ratio > 1; }),
            spoilt.spoil == Spoil::kSwapped ? 2 : 1);
}

INSTANTIATE_TEST_SUITE_P(Rows, SpoiltRowTest, testing::ValuesIn(spoiltRows()),
                         [](const auto& test) {
                           return std::string(name(test.param.dtype)) + "_" +
                                  name(test.param.kind) + "_" + test.param.name;
                         });

TEST(VerifyLayerTest, InBFloat16TwoPerCentOfARowIsFound) {
  LayerSpec spec{kHeadTail};
  spec.dtype = DType::kBFloat16;
  spec.head_dim = 16;
  RecordedLayer layer(spec);
  for (double& value : layer.row(TensorKind::kOut, 0, 0, 40)) value *= 1.02;
  EXPECT_GT(of(check(*layer.record()), TensorKind::kOut).worst.ratio(), 1);
}

TEST(VerifyLayerTest, ARecordedNaNIsBeyondAnyLimit) {
  RecordedLayer layer({kHeadTail});
  layer.row(TensorKind::kDv, 0, 0, 63)[2] = std::nan("");
  const LayerCheck result = check(*layer.record());
  EXPECT_TRUE(std::isinf(result.worstRatio()));
  EXPECT_EQ(of(result, TensorKind::kDv).wrong_ranks, std::vector{WorldRank::of(0)});
}

TEST(VerifyLayerTest, ARowWithoutKeysMustBeZero) {
  const LayerSpec spec{kHeadTail, "mask=documents documents=0-20,25-64"};
  RecordedLayer layer(spec);
  EXPECT_TRUE(std::isinf(layer.row(TensorKind::kLse, 0, 0, 22)[0]));
  layer.row(TensorKind::kOut, 0, 0, 22)[0] = 1e-30;
  const TensorCheck out = of(check(*layer.record()), TensorKind::kOut);
  EXPECT_TRUE(std::isinf(out.worst.ratio()));
  EXPECT_EQ(out.worst.token.value(), 22);
}

TEST(VerifyLayerTest, RowsWhoseInputsAreNotFiniteAreCountedAndNotCompared) {
  RecordedLayer layer({kHeadTail});
  layer.row(TensorKind::kV, 0, 0, 60)[0] = std::nan("");
  const TensorCheck out = of(check(*layer.record()), TensorKind::kOut);
  EXPECT_EQ(out.not_finite, 4) << "tokens 60 to 63 of head 0";
  EXPECT_EQ(out.rows, 2 * 64 - 4);
  EXPECT_LE(out.worst.ratio(), 1);
}

TEST(VerifyLayerTest, ARunUnderAnotherMaskThanWasMeantIsBeyondItsLimits) {
  RecordedLayer layer({kHeadTail, "mask=causal"});
  const auto trace = layer.record();
  IntentRecord window = trace->intents().front();
  window.mask = MaskKind::kWindow;
  window.window = 40;
  trace->add(window);
  const LayerCheck result = check(*trace);
  EXPECT_GT(of(result, TensorKind::kOut).worst.ratio(), 100);
  EXPECT_GE(of(result, TensorKind::kOut).worst.token.value(), 40);
}

TEST(VerifyLayerTest, WithoutDoutForwardIsStillCompared) {
  RecordedLayer layer({kHeadTail});
  layer.leaveOut(TensorKind::kDout, 2);
  const LayerCheck result = check(*layer.record());
  ASSERT_EQ(result.tensors.size(), 2u);
  EXPECT_EQ(result.tensors[1].kind, TensorKind::kLse);
  EXPECT_EQ(result.skipped, (std::vector<std::string>{"dout of rank 2 is not recorded; --capture "
                                                      "values:steps=0 keeps them"}));
}

TEST(VerifyLayerTest, RowsOfOneRankThatAreMissingDoNotHideTheOthers) {
  RecordedLayer layer({kHeadTail});
  layer.keepNoValues(TensorKind::kOut, 0);
  for (double& value : layer.row(TensorKind::kOut, 0, 0, 10)) value = 0;
  const TensorCheck out = of(check(*layer.record()), TensorKind::kOut);
  EXPECT_EQ(out.rows, 2 * 48);
  EXPECT_EQ(out.worst.rank.value(), 1);
}

TEST(VerifyLayerTest, ReportsWhyAResultCannotBeRecomputed) {
  RecordedLayer dropout({{"0-4"}, "mask=causal", "dropout=0.1"});
  EXPECT_EQ(check(*dropout.record()).skipped,
            std::vector<std::string>{
                "with dropout 0.1 the recording does not say which weights were dropped"});
  RecordedLayer documents({{"0-4"}, "mask=documents"});
  EXPECT_EQ(check(*documents.record()).skipped,
            std::vector<std::string>{"which documents the mask keeps apart is not recorded"});
  EXPECT_EQ(check(Trace()).skipped.back(), "which mask was meant is not recorded");
}

TEST(VerifyLayerTest, LittleWorkLeavesOutWholeHeadsAndReportsThem) {
  LayerSpec spec{kHeadTail};
  spec.heads = 8;
  spec.kv_heads = 4;
  const auto trace = RecordedLayer(spec).record();
  const double all = check(*trace).work;
  const LayerCheck half = check(*trace, 0.55 * all);
  EXPECT_EQ(half.selection.groups.size(), 2u);
  EXPECT_EQ(half.work, all / 2);
  EXPECT_EQ(of(half, TensorKind::kOut).rows, 4 * 64);
  EXPECT_EQ(of(half, TensorKind::kDk).rows, 2 * 64);
  EXPECT_EQ(half.skipped,
            std::vector<std::string>{"of 4 KV heads 2 and the query heads that share them were "
                                     "computed: all take more work than was allowed"});
}

TEST(VerifyLayerTest, VeryLittleWorkLeavesOutRowsAndWhatIsASumOverThem) {
  LayerSpec spec{kHeadTail};
  RecordedLayer layer(spec);
  const auto trace = layer.record();
  const LayerCheck some = check(*trace, 0.25 * check(*trace).work);
  ASSERT_EQ(some.tensors.size(), 3u) << "out, lse, dq";
  EXPECT_EQ(of(some, TensorKind::kOut).rows, 32);
  EXPECT_EQ(some.skipped.size(), 2u);
  EXPECT_LE(some.worstRatio(), 1);
  EXPECT_EQ(of(check(*trace, 0), TensorKind::kOut).rows, 1) << "never nothing";
}

}  // namespace
}  // namespace ringscope::traces
