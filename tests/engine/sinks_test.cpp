// SPDX-License-Identifier: Apache-2.0
// Attention sinks against their definition in fp64, over every strategy.
#include "engine/attention/sinks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/attend/attend.h"
#include "engine/attention/reference.h"
#include "engine/tensors/tensor_io.h"
#include "tests/engine/attend_config.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/largest_difference.h"

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

/// The oracle itself: its derivative is that of its own forward, by differences.
TEST(SinksTest, TheGradientIsTheSlopeOfForward) {
  AttendInput in = inputWithSinks(at::kDouble);
  in.sinks = in.sinks.to(at::kDouble);
  auto objective = [&](const at::Tensor& sinks) {
    ReferenceAttention op(in.mask, in.scale, sinks);
    return (op.forward(in.q, in.k, in.v, Layer::of(0)).out * in.dout).sum().item<double>();
  };
  ReferenceAttention op(in.mask, in.scale, in.sinks);
  const at::Tensor gradient =
      sinkGradient(in.sinks, in.dout, op.forward(in.q, in.k, in.v, Layer::of(0)));
  for (int h = 0; h < 4; ++h) {
    at::Tensor up = in.sinks.clone(), down = in.sinks.clone();
    up[h] += 1e-5;
    down[h] -= 1e-5;
    EXPECT_NEAR(gradient[h].item<double>(), (objective(up) - objective(down)) / 2e-5, 1e-6) << h;
  }
}

TEST(SinksTest, ASinkFarBelowAllScoresChangesNothing) {
  AttendInput in = inputWithSinks(at::kFloat);
  ReferenceAttention without(in.mask, in.scale),
      with(in.mask, in.scale, at::full({4}, -1000.0, at::kDouble));
  // Not bit for bit: a matrix product may split its sums by how many cores are free.
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
