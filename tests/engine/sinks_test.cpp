// SPDX-License-Identifier: Apache-2.0
// Attention sinks compared with their definition in fp64, for every strategy.
#include "engine/kernels/sinks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "engine/attend/attend.h"
#include "engine/kernels/reference.h"
#include "engine/tensors/tensor_io.h"
#include "tests/engine/attend_config.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/largest_difference.h"
#include "traces/format/safetensors/safetensors.h"

namespace ringscope::engine {
namespace {

AttendInput inputWithSinks(at::ScalarType type) {
  at::manual_seed(3);
  AttendInput in;
  in.q = at::randn({2, 4, 64, 16}).to(type);
  in.k = at::randn({2, 2, 64, 16}).to(type);
  in.v = at::randn_like(in.k);
  in.dout = at::randn_like(in.q);
  in.scale = 0.25;
  in.sinks = at::tensor({-1.0f, 0.5f, 3.0f, 9.0f});
  return in;
}

TEST(SinksTest, EveryStrategyEqualsFp64) {
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const char* strategy : {"ring", "all_gather", "ulysses", "hybrid"}) {
      const AttendInput in = inputWithSinks(type);
      AttendConfig config = test::attendConfig(4);
      config.strategy = traces::parse<traces::Strategy>(strategy);
      Gate gate(4);
      const auto outcome = attend(in, config, gate);
      const auto diffs = verifyAttend(in, outcome);
      ASSERT_EQ(diffs.size(), 6u);
      EXPECT_EQ(diffs.back().tensor, "dsinks");
      for (const auto& diff : diffs) EXPECT_LE(diff.ratio, 1) << diff.tensor << " " << strategy;
    }
}

/// A test of the oracle itself: its derivative matches difference quotients of its own forward.
TEST(SinksTest, TheGradientIsTheSlopeOfForward) {
  AttendInput in = inputWithSinks(at::kDouble);
  in.sinks = in.sinks.to(at::kDouble);
  auto objective = [&](const at::Tensor& sinks) {
    ReferenceAttention op(in.mask, {in.scale}, sinks);
    return (op.forward(in.q, in.k, in.v, Layer::of(0)).out * in.dout).sum().item<double>();
  };
  ReferenceAttention op(in.mask, {in.scale}, in.sinks);
  const at::Tensor gradient =
      sinkGradient(in.sinks, in.dout, op.forward(in.q, in.k, in.v, Layer::of(0)));
  for (int h = 0; h < 4; ++h) {
    at::Tensor up = in.sinks.clone(), down = in.sinks.clone();
    up[h] += 1e-5;
    down[h] -= 1e-5;
    EXPECT_NEAR(gradient[h].item<double>(), (objective(up) - objective(down)) / 2e-5, 1e-6) << h;
  }
}

/// Returns a softmax over the keys and one more key without a value, computed by autograd.
at::Tensor plainAttention(const AttendInput& in, const at::Tensor& q, const at::Tensor& k,
                          const at::Tensor& v, const at::Tensor& sinks) {
  const std::int64_t group = q.size(1) / k.size(1), length = q.size(2);
  const at::Tensor keys = k.repeat_interleave(group, 1), values = v.repeat_interleave(group, 1);
  const at::Tensor refused = at::ones({length, length}, at::kBool).triu(1);
  const at::Tensor scores = at::matmul(q, keys.transpose(-1, -2)) * in.scale;
  const at::Tensor column = sinks.view({1, -1, 1, 1}).expand({q.size(0), -1, length, 1});
  const at::Tensor weights =
      at::cat({scores.masked_fill(refused, -std::numeric_limits<double>::infinity()), column}, -1)
          .softmax(-1);
  return at::matmul(weights.slice(-1, 0, length), values);
}

TEST(SinksTest, GradientsAreThoseOfAutogradThroughASoftmaxWithOneMoreKey) {
  const AttendInput in = inputWithSinks(at::kDouble);
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& t : {in.q, in.k, in.v, in.sinks.to(at::kDouble)})
    leaves.push_back(t.detach().clone().requires_grad_());
  const at::Tensor out = plainAttention(in, leaves[0], leaves[1], leaves[2], leaves[3]);
  torch::autograd::backward({out}, {in.dout});
  ReferenceAttention op(in.mask, {in.scale});
  op.setSinks(in.sinks);
  const AttentionResult result = op.forward(in.q, in.k, in.v, Layer::of(0));
  const AttentionGradients g = op.backward(in.dout, in.q, in.k, in.v, result, Layer::of(0));
  EXPECT_LT(test::largestDifference(result.out, out.detach()), 1e-12);
  EXPECT_LT(test::largestDifference(g.dq, leaves[0].grad()), 1e-12);
  EXPECT_LT(test::largestDifference(g.dk, leaves[1].grad()), 1e-12);
  EXPECT_LT(test::largestDifference(g.dv, leaves[2].grad()), 1e-12);
  EXPECT_LT(test::largestDifference(sinkGradient(in.sinks, in.dout, result), leaves[3].grad()),
            1e-12);
}

/// The files hold what the eager function of Transformers gives for layers of GPT-OSS.
TEST(SinksTest, EveryStrategyEqualsGptOssOfTransformers) {
  for (const std::string file : {"gpt_oss", "gpt_oss_window"}) {
    const std::string path = test::reference("attention/" + file + ".safetensors");
    const AttendInput in = AttendInput::load(path);
    const auto exact = traces::SafeTensorsFile::read(path);
    for (const char* strategy : {"ring", "all_gather", "ulysses", "hybrid"}) {
      AttendConfig config = test::attendConfig(4);
      config.strategy = traces::parse<traces::Strategy>(strategy);
      Gate gate(4);
      const auto outcome = attend(in, config, gate);
      for (const char* name : {"out", "lse", "dq", "dk", "dv", "dsinks"})
        EXPECT_LT(test::largestDifference(outcome.tensors.at(name), toTensor(exact.at(name), name)),
                  2e-5)
            << name << " of " << file << " by " << strategy;
    }
  }
}

TEST(SinksTest, ASinkFarBelowAllScoresChangesNothing) {
  AttendInput in = inputWithSinks(at::kFloat);
  ReferenceAttention without(in.mask, {in.scale}),
      with(in.mask, {in.scale}, at::full({4}, -1000.0, at::kDouble));
  // Not bit for bit: a matrix product may split its sums according to the number of free cores.
  EXPECT_LT(test::largestDifference(without.forward(in.q, in.k, in.v, Layer::of(0)).out,
                                    with.forward(in.q, in.k, in.v, Layer::of(0)).out),
            1e-14);
}

TEST(SinksTest, AFileWithTooFewSinksIsRefused) {
  test::TempDir dir;
  const AttendInput in = inputWithSinks(at::kFloat);
  saveTensors(
      dir.file("in"),
      {{"q", in.q}, {"k", in.k}, {"v", in.v}, {"dout", in.dout}, {"sinks", at::zeros({3})}});
  EXPECT_ERROR(AttendInput::load(dir.file("in"), traces::MaskKind::kCausal), ErrorCode::kInput,
               "one floating-point logit for each query head");
}

}  // namespace
}  // namespace ringscope::engine
