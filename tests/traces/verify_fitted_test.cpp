// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "tests/support/recorded_layer.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/analysis/verify/trace_check.h"
#include "traces/format/schema/attention_facts.h"
#include "traces/format/schema/declared.h"

namespace ringscope::traces {
namespace {

using test::importedLayer;
using test::LayerSpec;
using test::RecordedLayer;

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

TEST(VerifyFittedTest, AnIgnoredWindowOfTheModelIsWrong) {
  constexpr const char* kWindow = R"({"0":{"window":2,"scale_by":"default"}})";
  const LayerCheck layer = check(RecordedLayer(importedLayer()), kWindow);
  EXPECT_EQ(layer.fits, AttentionFits::kUnmeant);
  EXPECT_EQ(layer.dropped, DroppedPart::kWindow);
  EXPECT_NE(layer.fits_words.find("states a window of 2 keys"), std::string::npos)
      << layer.fits_words;
  constexpr const char* kWide = R"({"0":{"window":4096,"scale_by":"default"}})";
  EXPECT_EQ(check(RecordedLayer(importedLayer()), kWide).fits, AttentionFits::kStated);
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

TEST(VerifyFittedTest, AnUnstatedSoftcapIsInferredBesideSinks) {
  LayerSpec spec = importedLayer();
  spec.sinks = {-1, 2.5};
  spec.softcap = 2;
  RecordedLayer recorded(spec);
  for (const bool known : {true, false}) {
    for (int rank = 0; !known && rank < 4; ++rank) recorded.leaveOut(TensorKind::kSinks, rank);
    const LayerCheck layer = check(recorded);
    EXPECT_EQ(layer.fits, AttentionFits::kOther) << known;
    EXPECT_LE(layer.worstRatio(), 1) << known;
    EXPECT_NEAR(layer.scores.softcap, 2, 1e-4) << known;
  }
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

TEST(VerifyFittedTest, HeadsWithoutTheirSinkAreNotJudgedByOthers) {
  LayerSpec spec = importedLayer();
  spec.sinks = {-1, -1e9, -1, -1e9};
  spec.heads = spec.kv_heads = 4;
  spec.recorded_sinks = {-1, 2.5, -1, 2.5};
  const LayerCheck layer = check(RecordedLayer(spec), kDefaultScale);
  EXPECT_EQ(layer.fits, AttentionFits::kNothing);
  EXPECT_TRUE(layer.tensors.empty());
}

TEST(VerifyFittedTest, BlocksWithoutKeysThatCountAreWrong) {
  LayerSpec spec = importedLayer();
  spec.empty_blocks_count = true;
  const LayerCheck layer = check(RecordedLayer(spec));
  EXPECT_EQ(layer.fits, AttentionFits::kUnmeant);
  EXPECT_EQ(layer.dropped, DroppedPart::kEmpty);
}

/// Makes the values of keys differ by one bit, so that the rounded out is far from the exact one
/// relative to their difference. The gradient of q begins with the exact out.
void beginBackwardUnrounded(RecordedLayer& layer, const LayerSpec& spec, std::int64_t length) {
  const double step = 1.0 / 128, scale = 1 / std::sqrt(static_cast<double>(spec.head_dim));
  const auto dot = [](std::span<double> a, std::span<double> b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  for (std::int64_t head = 0; head < spec.heads; ++head)
    for (std::int64_t query = 0; query < length; ++query) {
      std::vector<double> out(static_cast<std::size_t>(spec.head_dim), 0), weights;
      const auto q = layer.row(TensorKind::kQ, 0, head, query),
                 dout = layer.row(TensorKind::kDout, 0, head, query);
      const double lse = layer.row(TensorKind::kLse, 0, head, query)[0];
      for (std::int64_t key = 0; key <= query; ++key) {
        const auto v = layer.row(TensorKind::kV, 0, head, key);
        weights.push_back(std::exp(dot(q, layer.row(TensorKind::kK, 0, head, key)) * scale - lse));
        for (std::size_t d = 0; d < v.size(); ++d) {
          v[d] = (static_cast<std::size_t>(key) * 5 + d * 3) % 7 < 4 ? 1 : 1 + step;
          out[d] += weights.back() * v[d];
        }
      }
      std::vector<double> dq(out.size(), 0);
      const double delta = dot(dout, out);
      for (std::int64_t key = 0; key <= query; ++key) {
        const auto k = layer.row(TensorKind::kK, 0, head, key);
        const double ds = weights[static_cast<std::size_t>(key)] *
                          (dot(dout, layer.row(TensorKind::kV, 0, head, key)) - delta);
        for (std::size_t d = 0; d < dq.size(); ++d) dq[d] += ds * k[d] * scale;
      }
      for (std::size_t d = 0; d < out.size(); ++d) {
        layer.row(TensorKind::kOut, 0, head, query)[d] = std::round(out[d] / step) * step;
        layer.row(TensorKind::kDq, 0, head, query)[d] = dq[d];
      }
    }
}

TEST(VerifyFittedTest, BackwardMayBeginWithTheUnroundedOutput) {
  LayerSpec spec = importedLayer();
  spec.dtype = DType::kBFloat16;
  RecordedLayer recorded(spec);
  beginBackwardUnrounded(recorded, spec, 64);
  for (const TensorKind kind : {TensorKind::kDk, TensorKind::kDv})
    for (int rank = 0; rank < 4; ++rank) recorded.leaveOut(kind, rank);
  EXPECT_LE(check(recorded, kDefaultScale).worstRatio(), 1);
  for (double& value : recorded.row(TensorKind::kDq, 0, 1, 50)) value += 1;
  EXPECT_GT(check(recorded, kDefaultScale).worstRatio(), 1);
  const LayerCheck unstated = check(recorded);
  EXPECT_EQ(unstated.fits, AttentionFits::kNothing) << "out agrees with any scale";
  EXPECT_LE(unstated.worstRatio(), 1);
}

TEST(VerifyFittedTest, AFewUnitsOfARowAreRoundingInOtherPrograms) {
  RecordedLayer recorded(importedLayer());
  const auto spoil = [&](double by) {
    for (double& value : recorded.row(TensorKind::kDk, 0, 1, 20)) value *= by;
  };
  spoil(1 + 3e-6);
  EXPECT_LE(check(recorded).worstRatio(), 1);
  spoil(1 + 3e-5);
  EXPECT_GT(check(recorded).worstRatio(), 1);
}

TEST(VerifyFittedTest, ScalesThatRoundingMakesDifferAreAlike) {
  const auto judged = [](DType dtype, const std::vector<double>& scales) {
    std::shared_ptr<Trace> trace;
    for (std::size_t number = 0; number < scales.size(); ++number) {
      LayerSpec spec = importedLayer();
      spec.scale = scales[number];
      spec.dtype = dtype;
      const auto other = RecordedLayer(spec).record();
      if (!trace) {
        trace = other;
        continue;
      }
      const std::vector<TensorRecord> tensors(other->tensors().begin(), other->tensors().end());
      for (TensorRecord tensor : tensors) {
        tensor.place.layer = Layer::of(number);
        test::addTensor(*trace, tensor, *other->bytes(tensor));
      }
    }
    return checkTrace(*trace);
  };
  const auto unlike = [](const TraceCheck& check) {
    return std::ranges::count_if(check.layers, &LayerCheck::unlike_other_layers);
  };
  EXPECT_EQ(unlike(judged(DType::kBFloat16, {0.9, 0.904, 0.9, 0.904})), 0);
  EXPECT_EQ(unlike(judged(DType::kFloat32, {0.9, 0.9, 0.9, 0.904})), 1);
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

TEST(VerifyFittedTest, FewRowsShowNothingIfOtherLayersAreUnknown) {
  const auto spoilt = [](std::int64_t rows) {
    RecordedLayer recorded(importedLayer());
    for (std::int64_t head = 0; head < 2; ++head)
      for (std::int64_t token = 0; token < rows; ++token)
        for (double& value : recorded.row(TensorKind::kOut, 0, head, token))
          value = 1 - value * value;
    return recorded.record();
  };
  const auto judged = [&](std::int64_t rows_of_others) {
    const auto trace = spoilt(48), others = spoilt(rows_of_others);
    const std::vector<TensorRecord> tensors(others->tensors().begin(), others->tensors().end());
    for (const int number : {1, 2})
      for (TensorRecord tensor : tensors) {
        tensor.place.layer = Layer::of(number);
        test::addTensor(*trace, tensor, *others->bytes(tensor));
      }
    return checkTrace(*trace).layers.front().right();
  };
  EXPECT_FALSE(judged(0)) << "the other layers are right";
  EXPECT_TRUE(judged(64)) << "no row of the other layers agrees";
}

}  // namespace
}  // namespace ringscope::traces
