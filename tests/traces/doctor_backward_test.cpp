// SPDX-License-Identifier: Apache-2.0
// The rules that compute a layer again. Each is tested in a recording in which it finds a mistake,
// in one in which it is clear, and in one in which it cannot tell.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tests/support/recorded_layer.h"
#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;
using test::LayerSpec;
using test::RecordedLayer;

/// Returns two ranks with a token each. A block alone has one key with all weight, and so no dq.
LayerSpec oneTokenEach() {
  return {{"0-1", "1-2"}, "mask=full"};
}
void setDq(RecordedLayer& layer, double value) {
  for (const std::int64_t head : {0, 1})
    for (const std::int64_t token : {0, 1})
      std::ranges::fill(layer.row(TensorKind::kDq, 0, head, token), value);
}

TEST(LocalDeltaInBackwardRuleTest, FindsTheSumOfWhatBlocksGiveAlone) {
  RecordedLayer layer(oneTokenEach());
  EXPECT_EQ(answerFrom("local_delta_in_backward", *layer.record()).verdict, Verdict::kClear);
  setDq(layer, 0);
  const auto wrong = answerFrom("local_delta_in_backward", *layer.record());
  ASSERT_EQ(wrong.verdict, Verdict::kFound) << wrong.would_settle;
  EXPECT_EQ(wrong.findings.front().place.layer, Layer::of(0));
  EXPECT_EQ(wrong.findings.front().place.direction, Direction::kBackward);
}

TEST(LocalDeltaInBackwardRuleTest, AnotherWrongDqIsNotTakenForIt) {
  RecordedLayer layer(oneTokenEach());
  setDq(layer, 3);
  const auto other = answerFrom("local_delta_in_backward", *layer.record());
  EXPECT_EQ(other.verdict, Verdict::kNotObservable);
  EXPECT_NE(other.would_settle.find("layer 0 does not"), std::string::npos) << other.would_settle;
}

TEST(LocalDeltaInBackwardRuleTest, AMistakeHiddenByRoundingIsNotCalledClear) {
  LayerSpec spec{{"0-8"}, "mask=full"};
  spec.dtype = DType::kBFloat16;
  spec.sinks = {-9, -9};  // the sinks take 1 in 60,000 of a row
  const auto hidden = answerFrom("local_delta_in_backward", *RecordedLayer(spec).record());
  EXPECT_EQ(hidden.verdict, Verdict::kNotObservable);
  EXPECT_NE(hidden.would_settle.find("both give it, but for rounding"), std::string::npos)
      << hidden.would_settle;
  spec.sinks = {1, 1};
  EXPECT_EQ(answerFrom("local_delta_in_backward", *RecordedLayer(spec).record()).verdict,
            Verdict::kClear);
}

TEST(LocalDeltaInBackwardRuleTest, WithoutDqOrItsInputsItCannotTell) {
  for (const TensorKind kind : {TensorKind::kDq, TensorKind::kDout, TensorKind::kK}) {
    RecordedLayer layer(oneTokenEach());
    for (const int rank : {0, 1}) layer.leaveOut(kind, rank);
    EXPECT_EQ(answerFrom("local_delta_in_backward", *layer.record()).verdict,
              Verdict::kNotObservable)
        << name(kind);
  }
}

// -------- which KV head

constexpr std::int64_t kLength = 16;

void swapHeads(RecordedLayer& layer, TensorKind kind, std::int64_t one, std::int64_t other) {
  for (std::int64_t token = 0; token < kLength; ++token)
    std::ranges::swap_ranges(layer.row(kind, 0, one, token), layer.row(kind, 0, other, token));
}

TEST(GqaGroupBrokenRuleTest, FindsTheKvHeadThatAQueryHeadAttended) {
  const char* rule = "gqa_group_broken";
  LayerSpec spec{{"0-8", "8-16"}};
  spec.heads = 4;
  for (const char* intent : {"mask=causal", "mask=full", "mask=window window=3"}) {
    spec.intent = intent;
    RecordedLayer layer(spec);
    EXPECT_EQ(answerFrom(rule, *layer.record()).verdict, Verdict::kClear) << intent;
    swapHeads(layer, TensorKind::kK, 0, 1);
    const auto wrong = answerFrom(rule, *layer.record());
    ASSERT_EQ(wrong.verdict, Verdict::kFound) << intent << wrong.would_settle;
    EXPECT_NE(wrong.findings.front().evidence.find("4 of 4 query heads"), std::string::npos);
  }
  RecordedLayer layer(spec);
  swapHeads(layer, TensorKind::kLse, 1, 2);  // one of each group
  EXPECT_EQ(answerFrom(rule, *layer.record()).verdict, Verdict::kNotObservable)
      << "an lse of another q is that of no KV head";
}

/// Returns a foreign layer of eight query heads, whose KV heads have these values.
std::string repeatedHeads(const std::vector<int>& kv_heads) {
  std::string q, k;
  for (int head = 0; head < 8; ++head) q += (head == 0 ? "" : ",") + std::to_string(head) + ",1";
  for (const int value : kv_heads)
    k += (k.empty() ? "" : ",") + std::to_string(value) + "," + std::to_string(value + 1);
  return "note framework \"pytorch\"\nrun command=import cp=1 seq_len=2\ngroup cp 0\n"
         "shard input_ids rank=0 tokens=0-2\ntensor q rank=0 layer=0 shape=1x8x2x1 values=" +
         q + "\ntensor k rank=0 layer=0 shape=1x4x2x1 values=" + k +
         "\ntensor v rank=0 layer=0 shape=1x4x2x1 values=" + k + "\n";
}

TEST(GqaGroupBrokenRuleTest, KvHeadsRepeatedAsABlockAreFound) {
  const auto tiled = answerFrom("gqa_group_broken", repeatedHeads({1, 2, 1, 2}));
  ASSERT_EQ(tiled.verdict, Verdict::kFound);
  EXPECT_EQ(tiled.findings.front().buffer, "k");
  for (const auto& right : {std::vector{1, 1, 2, 2}, {1, 2, 3, 4}, {1, 1, 1, 1}})
    EXPECT_NE(test::findVerdict("gqa_group_broken", repeatedHeads(right)), Verdict::kFound);
}

TEST(GqaGroupBrokenRuleTest, KvHeadsThatAreAlikeProveNothing) {
  RecordedLayer layer({{"0-8", "8-16"}});
  for (std::int64_t token = 0; token < kLength; ++token) {
    std::ranges::fill(layer.row(TensorKind::kK, 0, 0, token), 0);
    std::ranges::fill(layer.row(TensorKind::kK, 0, 1, token), 0);
    for (const std::int64_t head : {0, 1})
      layer.row(TensorKind::kLse, 0, head, token)[0] = std::log(static_cast<double>(token + 1));
  }
  EXPECT_EQ(answerFrom("gqa_group_broken", *layer.record()).verdict, Verdict::kNotObservable);
  LayerSpec one{{"0-8", "8-16"}};
  one.kv_heads = 1;
  EXPECT_EQ(answerFrom("gqa_group_broken", *RecordedLayer(one).record()).verdict, Verdict::kClear);
  RecordedLayer without({{"0-8", "8-16"}});
  without.leaveOut(TensorKind::kLse, 1);
  EXPECT_EQ(answerFrom("gqa_group_broken", *without.record()).verdict, Verdict::kNotObservable);
}

// -------- which weights were dropped

/// Reports whether a pair is kept; half of the pairs are, according to a seed.
bool isKept(unsigned seed, std::int64_t head, std::int64_t query, std::int64_t key) {
  const auto place = static_cast<unsigned>(head * 256 + query * 16 + key);
  return ((place + 1) * (2 * seed + 1) * 2654435761u >> 19) % 2 == 0;
}

/// Writes out and dq of a causal layer with a dropout of one half, with one seed each.
void dropHalf(RecordedLayer& layer, unsigned forward, unsigned backward) {
  constexpr std::size_t kWidth = 8;
  const auto dot = [](std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (std::size_t i = 0; i < kWidth; ++i) sum += a[i] * b[i];
    return sum;
  };
  for (const std::int64_t head : {0, 1})
    for (std::int64_t query = 0; query < kLength; ++query) {
      const auto q = layer.row(TensorKind::kQ, 0, head, query),
                 out = layer.row(TensorKind::kOut, 0, head, query),
                 dout = layer.row(TensorKind::kDout, 0, head, query),
                 dq = layer.row(TensorKind::kDq, 0, head, query);
      const double lse = layer.row(TensorKind::kLse, 0, head, query)[0], scale = std::sqrt(0.125);
      std::ranges::fill(out, 0);
      std::ranges::fill(dq, 0);
      for (std::int64_t key = 0; key <= query; ++key) {
        const auto k = layer.row(TensorKind::kK, 0, head, key),
                   v = layer.row(TensorKind::kV, 0, head, key);
        const double weight = std::exp(scale * dot(q, k) - lse);
        for (std::size_t i = 0; i < kWidth; ++i)
          out[i] += isKept(forward, head, query, key) ? 2 * weight * v[i] : 0;
      }
      for (std::int64_t key = 0; key <= query; ++key) {
        const auto k = layer.row(TensorKind::kK, 0, head, key),
                   v = layer.row(TensorKind::kV, 0, head, key);
        const double weight = std::exp(scale * dot(q, k) - lse),
                     dweight = isKept(backward, head, query, key) ? 2 * dot(dout, v) : 0;
        for (std::size_t i = 0; i < kWidth; ++i)
          dq[i] += scale * weight * (dweight - dot(dout, out)) * k[i];
      }
    }
}

LayerSpec withDropout() {
  LayerSpec spec{{"0-8", "8-16"}};
  spec.run = "dropout=0.5";
  return spec;
}

TEST(DropoutRngReusedRuleTest, OutAndDqTellWhichWeightsWereDropped) {
  const char* rule = "dropout_rng_reused";
  RecordedLayer layer(withDropout());
  dropHalf(layer, 1, 1);
  const auto right = answerFrom(rule, *layer.record());
  EXPECT_EQ(right.verdict, Verdict::kClear) << right.would_settle;
  dropHalf(layer, 1, 2);
  const auto wrong = answerFrom(rule, *layer.record());
  ASSERT_EQ(wrong.verdict, Verdict::kFound) << wrong.would_settle;
  EXPECT_EQ(wrong.findings.front().place.direction, Direction::kBackward);
}

TEST(DropoutRngReusedRuleTest, RowsThatDoNotTellProveNothing) {
  const char* rule = "dropout_rng_reused";
  RecordedLayer none(withDropout());  // out and dq without dropout
  EXPECT_EQ(answerFrom(rule, *none.record()).verdict, Verdict::kNotObservable);
  LayerSpec full = withDropout();
  full.intent = "mask=full";
  EXPECT_EQ(answerFrom(rule, *RecordedLayer(full).record()).verdict, Verdict::kNotObservable)
      << "of 16 keys each";
  RecordedLayer without(withDropout());
  without.keepNoValues(TensorKind::kDq, 0);
  EXPECT_EQ(answerFrom(rule, *without.record()).verdict, Verdict::kNotObservable);
  EXPECT_EQ(answerFrom(rule, "run cp=2\n").verdict, Verdict::kClear) << "nothing is dropped";
}

// -------- recomputation

/// Returns k of rank 0 in backward, and its block in forward and in the recomputation.
std::string recomputed(const char* k, const char* block, const char* again) {
  return std::string("run cp=1 recompute=true\ngroup cp 0\n") +
         "tensor q rank=0 layer=0 shape=1x1x2x1 values=1,2\n"
         "tensor v rank=0 layer=0 shape=1x1x2x1 values=5,6\n"
         "tensor k rank=0 layer=0 shape=1x1x2x1 values=" +
         k + "\ntensor kv rank=0 layer=0 stage=0 source=0 shape=2x1x1x2x1 values=" + block +
         "\ntensor kv rank=0 layer=0 direction=backward stage=0 source=0 shape=2x1x1x2x1 values=" +
         again + "\n";
}

TEST(RecomputeDiffersRuleTest, BackwardWorksWithTheBlockOfForward) {
  const char* rule = "recompute_differs";
  const char* block = "3,4,5,6";
  EXPECT_EQ(test::findVerdict(rule, recomputed("3,4", block, block)), Verdict::kClear);
  EXPECT_EQ(test::findVerdict(rule, recomputed("3,4.000000000000004", block, block)),
            Verdict::kClear)
      << "rounding";
  const auto wrong = answerFrom(rule, recomputed("3,4.01", block, block));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().confidence, Confidence::kCertain);
  EXPECT_EQ(test::findVerdict(rule, recomputed("3,4", block, "3.01,4,5,6")), Verdict::kFound);
}

TEST(RecomputeDiffersRuleTest, ComparesWithinEachMicrobatch) {
  const std::string first = recomputed("3,4", "3,4,5,6", "3,4,5,6");
  std::string second = recomputed("13,14", "13,14,5,6", "13,14,5,6");
  second.erase(0, second.find("tensor"));
  for (std::size_t at = 0; (at = second.find(" layer=0", at)) != std::string::npos; at += 21)
    second.insert(at, " microbatch=1");
  EXPECT_EQ(test::findVerdict("recompute_differs", first + second), Verdict::kClear);
}

TEST(RecomputeDiffersRuleTest, WithoutBlocksTheResultsOfForwardTell) {
  LayerSpec spec{{"0-8", "8-16"}};
  spec.run = "recompute=true";
  RecordedLayer layer(spec);
  const auto verdict = [&] { return answerFrom("recompute_differs", *layer.record()).verdict; };
  EXPECT_EQ(verdict(), Verdict::kClear);
  for (const TensorKind kind : {TensorKind::kQ, TensorKind::kK, TensorKind::kV})
    for (const std::int64_t head : {0, 1})
      for (std::int64_t token = 0; token < kLength; ++token)
        for (double& x : layer.row(kind, 0, head, token))
          x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) &
                                   0xffff0000);
  EXPECT_EQ(verdict(), Verdict::kFound);
  layer.row(TensorKind::kV, 0, 0, 0)[0] = 0.3;
  EXPECT_EQ(verdict(), Verdict::kNotObservable) << "they were not all rounded";
  EXPECT_EQ(answerFrom("recompute_differs", "run cp=2\n").verdict, Verdict::kClear);
  EXPECT_EQ(answerFrom("recompute_differs", "run cp=2 recompute=true\n").verdict,
            Verdict::kNotObservable);
}

}  // namespace
}  // namespace ringscope::traces
