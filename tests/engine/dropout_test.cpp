// SPDX-License-Identifier: Apache-2.0
// Dropout: one-hot values reveal the mask that a run really used. Gradients are then compared with
// fp64 under that mask.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/attend/attend.h"
#include "tests/engine/attend_config.h"
#include "tests/support/largest_difference.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kLength = 32, kHeads = 4;

AttendConfig configOf(const std::string& strategy, double p, std::uint64_t seed, int cp = 4) {
  AttendConfig config = test::attendConfig(cp);
  config.strategy = traces::parse<traces::Strategy>(strategy);
  config.dropout = p;
  config.seed = seed;
  return config;
}

AttendInput input(at::ScalarType type, std::int64_t width) {
  at::manual_seed(5);
  AttendInput in;
  for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.dout})
    *t = at::randn({1, kHeads, kLength, width}, type);
  in.scale = 0.3;
  return in;
}

/// Returns the factor of each allowed pair's weight: [1, H, S, S].
at::Tensor keptPairs(AttendConfig config) {
  AttendInput probe = input(at::kFloat, kLength);
  probe.k = at::zeros_like(probe.k);
  probe.v = at::eye(kLength).expand({1, kHeads, kLength, kLength}).contiguous();
  config.forward_only = true;
  Gate gate(config.cp);
  const at::Tensor out = attend(probe, config, gate).tensors.at("out");
  return out * at::arange(1, kLength + 1).view({-1, 1});  // row i has i + 1 keys
}

class DropoutTest : public testing::TestWithParam<std::string> {};

TEST_P(DropoutTest, BackwardDropsThePairsThatForwardDropped) {
  const AttendConfig config = configOf(GetParam(), 0.25, 7);
  const at::Tensor kept = keptPairs(config).to(at::kDouble);
  const AttendInput in = input(at::kFloat, 16);
  Gate gate(4);
  const auto outcome = attend(in, config, gate);
  const at::Tensor q = in.q.to(at::kDouble), k = in.k.to(at::kDouble), v = in.v.to(at::kDouble),
                   dout = in.dout.to(at::kDouble);
  const at::Tensor future = at::ones({kLength, kLength}, at::kBool).triu(1);
  const at::Tensor scores = (at::matmul(q, k.transpose(-1, -2)) * in.scale)
                                .masked_fill(future, -std::numeric_limits<double>::infinity());
  const at::Tensor p = at::softmax(scores, -1), used = p * kept;
  const at::Tensor dp = at::matmul(dout, v.transpose(-1, -2)) * kept;
  const at::Tensor ds = p * (dp - (dp * p).sum(-1, true)) * in.scale;
  const std::map<std::string, at::Tensor> exact = {
      {"out", at::matmul(used, v)},
      {"lse", at::logsumexp(scores, -1)},
      {"dq", at::matmul(ds, k)},
      {"dk", at::matmul(ds.transpose(-1, -2), q)},
      {"dv", at::matmul(used.transpose(-1, -2), dout)}};
  for (const auto& [name, tensor] : exact)
    EXPECT_LE(test::largestDifference(outcome.tensors.at(name), tensor), 1e-5) << name;
}

TEST_P(DropoutTest, DropsAboutAsManyAsAskedAndScalesTheRest) {
  const at::Tensor kept = keptPairs(configOf(GetParam(), 0.25, 7)).tril();
  const double pairs = kHeads * kLength * (kLength + 1) / 2.0;
  const auto count = static_cast<double>((kept > 0).sum().item<std::int64_t>());
  EXPECT_NEAR(count / pairs, 0.75, 0.04);
  const at::Tensor others = kept.masked_select(kept > 0);
  EXPECT_TRUE(at::allclose(others, at::full_like(others, 1 / 0.75), 1e-4));
}

TEST_P(DropoutTest, TheSeedDecidesAndNoBlockIsDroppedLikeAnother) {
  EXPECT_TRUE(
      at::equal(keptPairs(configOf(GetParam(), 0.5, 1)), keptPairs(configOf(GetParam(), 0.5, 1))));
  const at::Tensor kept = keptPairs(configOf(GetParam(), 0.5, 1));
  EXPECT_FALSE(at::equal(kept, keptPairs(configOf(GetParam(), 0.5, 2))));
  // Chunks of 4: two full chunks of the same query rows, from different ranks.
  auto chunk = [&](int c) { return kept.slice(2, 28, 32).slice(3, 4 * c, 4 * c + 4); };
  EXPECT_FALSE(at::allclose(chunk(0), chunk(1)) && at::allclose(chunk(1), chunk(2)));
}

TEST_P(DropoutTest, AnyNumberOfRanksAndAnyBalanceDropTheSamePairs) {
  const at::Tensor alone = keptPairs(configOf("ring", 0.25, 7, 1)) > 0;
  for (const int cp : {2, 4})
    for (const char* balance : {"none", "head_tail", "striped"}) {
      AttendConfig config = configOf(GetParam(), 0.25, 7, cp);
      config.balance = traces::parse<traces::Balance>(balance);
      EXPECT_TRUE(at::equal(keptPairs(config) > 0, alone)) << cp << " " << balance;
    }
}

INSTANTIATE_TEST_SUITE_P(All, DropoutTest,
                         testing::Values("ring", "all_gather", "ulysses", "hybrid"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace ringscope::engine
