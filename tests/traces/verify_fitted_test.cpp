// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/support/recorded_layer.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/format/schema/attention_facts.h"

namespace ringscope::traces {
namespace {

using test::LayerSpec;
using test::RecordedLayer;

/// A recording of a job that computes attention itself.
LayerSpec importedLayer() {
  LayerSpec spec{{"0-8,56-64", "8-16,48-56", "16-24,40-48", "24-40"}};
  spec.run = "command=import";
  return spec;
}

LayerCheck check(const RecordedLayer& layer, const std::string& stated = "") {
  const auto trace = layer.record();
  if (!stated.empty()) trace->add(Note{kAttentionNote, stated});
  std::vector<WorldRank> members;
  for (int rank = 0; rank < trace->worldSize(); ++rank) members.push_back(WorldRank::of(rank));
  return checkLayer(*trace, {0, Layer::of(0), 0}, members, 1e12);
}

constexpr const char* kDefaultScale = R"({"0":{"scale_by":"default"}})";
constexpr const char* kScaleOfCall = R"({"0":{"scale":0.9,"scale_by":"call"}})";
constexpr const char* kScaleOfModel = R"({"0":{"scale":0.9,"scale_by":"model"}})";

TEST(VerifyFittedTest, AnUnstatedScaleIsInferredFromTheOutput) {
  LayerSpec spec = importedLayer();
  spec.scale = 0.9;
  const LayerCheck layer = check(RecordedLayer(spec));
  EXPECT_EQ(layer.fits, AttentionFits::kOther);
  EXPECT_LE(layer.worstRatio(), 1);
  EXPECT_NEAR(layer.scores.scale, 0.9, 1e-5);
}

TEST(VerifyFittedTest, AStatedScaleIsUsedWithoutAnInference) {
  LayerSpec spec = importedLayer();
  spec.scale = 0.9;
  for (const char* stated : {kScaleOfCall, kScaleOfModel}) {
    const LayerCheck layer = check(RecordedLayer(spec), stated);
    EXPECT_EQ(layer.fits, AttentionFits::kStated);
    EXPECT_LE(layer.worstRatio(), 1);
  }
}

TEST(VerifyFittedTest, AnIgnoredScaleOfTheModelIsWrong) {
  const LayerCheck layer = check(RecordedLayer(importedLayer()), kScaleOfModel);
  EXPECT_EQ(layer.fits, AttentionFits::kUnmeant);
  EXPECT_GT(layer.worstRatio(), 100);
}

TEST(VerifyFittedTest, AnotherScaleThanTheDefaultOfACallIsWrong) {
  LayerSpec spec = importedLayer();
  spec.scale = 0.9;
  EXPECT_GT(check(RecordedLayer(spec), kDefaultScale).worstRatio(), 100);
}

TEST(VerifyFittedTest, UnrecordedSinksAreInferredPerHead) {
  LayerSpec spec = importedLayer();
  spec.sinks = {-1, 2.5};
  RecordedLayer recorded(spec);
  for (int rank = 0; rank < 4; ++rank) recorded.leaveOut(TensorKind::kSinks, rank);
  const LayerCheck layer = check(recorded);
  EXPECT_EQ(layer.fits, AttentionFits::kOther);
  EXPECT_LE(layer.worstRatio(), 1);
}

TEST(VerifyFittedTest, RowsThatAgreeShowWhatTheOthersShouldBe) {
  RecordedLayer recorded(importedLayer());
  for (double& value : recorded.row(TensorKind::kOut, 0, 1, 50)) value *= 1.1;
  const LayerCheck layer = check(recorded);
  EXPECT_EQ(layer.fits, AttentionFits::kStated);
  EXPECT_GT(layer.worstRatio(), 10);
}

TEST(VerifyFittedTest, AnOutputOfNoAttentionIsUnknownAndNotWrong) {
  RecordedLayer recorded(importedLayer());
  for (std::int64_t head = 0; head < 2; ++head)
    for (std::int64_t token = 0; token < 64; ++token)
      for (double& value : recorded.row(TensorKind::kOut, 0, head, token))
        value = 1 - value * value;
  const LayerCheck layer = check(recorded);
  EXPECT_EQ(layer.fits, AttentionFits::kNothing);
  EXPECT_TRUE(layer.tensors.empty());
}

}  // namespace
}  // namespace ringscope::traces
