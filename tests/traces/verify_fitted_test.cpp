// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/recorded_layer.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/format/schema/attention_facts.h"
#include "traces/format/schema/declared.h"

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
  EXPECT_EQ(layer.dropped, DroppedPart::kScale);
  EXPECT_GT(layer.worstRatio(), 100);
}

TEST(VerifyFittedTest, AnIgnoredSoftcapOfTheModelIsWrong) {
  constexpr const char* kSoftcap = R"({"0":{"softcap":0.7,"scale_by":"default"}})";
  const LayerCheck layer = check(RecordedLayer(importedLayer()), kSoftcap);
  EXPECT_EQ(layer.fits, AttentionFits::kUnmeant);
  EXPECT_EQ(layer.dropped, DroppedPart::kSoftcap);
  EXPECT_NE(layer.fits_words.find("without a softcap"), std::string::npos);
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

TEST(VerifyFittedTest, AttentionWithoutTheSinksOfItsLayerIsWrong) {
  LayerSpec spec = importedLayer();
  spec.recorded_sinks = {-1, 2.5};
  const LayerCheck layer = check(RecordedLayer(spec));
  EXPECT_EQ(layer.fits, AttentionFits::kUnmeant);
  EXPECT_EQ(layer.dropped, DroppedPart::kSinks);
}

TEST(VerifyFittedTest, SinksThatAreAddedPerBlockAreWrong) {
  LayerSpec spec = importedLayer();
  spec.sinks = {-1, 2.5};
  spec.sink_per_block = true;
  RecordedLayer recorded(spec);
  EXPECT_EQ(check(recorded).dropped, DroppedPart::kOneSink);
  for (int rank = 0; rank < 4; ++rank) recorded.leaveOut(TensorKind::kSinks, rank);
  EXPECT_EQ(check(recorded).dropped, DroppedPart::kOneSink) << "they are inferred";
  spec.sink_per_block = false;
  EXPECT_EQ(check(RecordedLayer(spec)).fits, AttentionFits::kStated);
}

TEST(VerifyFittedTest, SinksOfOtherHeadsAreWrong) {
  LayerSpec spec = importedLayer();
  spec.heads = spec.kv_heads = 4;
  spec.sinks = {-1, 2.5, -1, 2.5};
  spec.recorded_sinks = {-1, 2.5, 1, 0.5};
  const LayerCheck layer = check(RecordedLayer(spec));
  EXPECT_EQ(layer.fits, AttentionFits::kUnmeant);
  EXPECT_EQ(layer.dropped, DroppedPart::kHeads);
  EXPECT_NE(layer.fits_words.find("the first 2 sinks"), std::string::npos);
}

/// Checks attention that the recorder recognised and whose mask is taken to be causal.
LayerCheck checkRecognised(const RecordedLayer& layer, const char* attention = "recognised") {
  const auto trace = layer.record();
  trace->add(Note{kRecorderNote, std::string(R"({"attention":")") + attention + "\"}"});
  IntentRecord causal = trace->intents().front();
  causal.mask = MaskKind::kCausal;
  causal.window = 0;
  trace->add(causal);
  std::vector<WorldRank> members;
  for (int rank = 0; rank < trace->worldSize(); ++rank) members.push_back(WorldRank::of(rank));
  return checkLayer(*trace, {0, Layer::of(0), 0}, members, 1e12);
}

/// Makes the first `prefix` tokens attend all of each other.
void attendPrefix(RecordedLayer& layer, const LayerSpec& spec, std::int64_t prefix) {
  for (std::int64_t head = 0; head < spec.heads; ++head)
    for (std::int64_t query = 0; query < prefix; ++query) {
      const auto q = layer.row(TensorKind::kQ, 0, head, query);
      double sum = 0;
      std::vector<double> out(q.size(), 0);
      for (std::int64_t key = 0; key < prefix; ++key) {
        const auto k = layer.row(TensorKind::kK, 0, head, key),
                   v = layer.row(TensorKind::kV, 0, head, key);
        const double weight = std::exp(std::inner_product(q.begin(), q.end(), k.begin(), 0.0) /
                                       std::sqrt(static_cast<double>(q.size())));
        sum += weight;
        for (std::size_t d = 0; d < out.size(); ++d) out[d] += weight * v[d];
      }
      const auto row = layer.row(TensorKind::kOut, 0, head, query);
      for (std::size_t d = 0; d < out.size(); ++d) row[d] = static_cast<float>(out[d] / sum);
      layer.row(TensorKind::kLse, 0, head, query)[0] = static_cast<float>(std::log(sum));
    }
}

TEST(VerifyFittedTest, AWindowOfRecognisedAttentionIsInferred) {
  LayerSpec spec = importedLayer();
  spec.intent = "mask=window window=16";
  const LayerCheck layer = checkRecognised(RecordedLayer(spec));
  EXPECT_EQ(layer.fits, AttentionFits::kOther);
  EXPECT_LE(layer.worstRatio(), 1);
  EXPECT_NE(layer.fits_words.find("a sliding window of 16 keys"), std::string::npos);
}

TEST(VerifyFittedTest, AWindowOfDeclaredCausalAttentionIsWrong) {
  LayerSpec spec = importedLayer();
  spec.intent = "mask=window window=16";
  EXPECT_GT(checkRecognised(RecordedLayer(spec), "annotated").worstRatio(), 100);
}

TEST(VerifyFittedTest, APrefixOfRecognisedAttentionIsNotJudged) {
  const LayerSpec spec = importedLayer();
  RecordedLayer recorded(spec);
  attendPrefix(recorded, spec, 21);
  const LayerCheck layer = checkRecognised(recorded);
  EXPECT_EQ(layer.fits, AttentionFits::kNothing);
  EXPECT_TRUE(layer.right());
  EXPECT_NE(layer.fits_words.find("first 21 tokens attend all of each other"), std::string::npos);
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
