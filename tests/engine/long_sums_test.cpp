// SPDX-License-Identifier: Apache-2.0
// Attention of one device over long rows whose terms have a common direction.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <numeric>

#include "traces/analysis/verify/recompute/limited_attention.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kHeads = 2, kWidth = 16;

/// Returns [1, heads, length, width] rows whose common direction is `mean` times as large as their
/// deviations.
at::Tensor rows(std::int64_t length, double mean) {
  const at::Tensor common = mean * at::randn({1, kHeads, 1, kWidth});
  return (at::randn({1, kHeads, length, kWidth}) + common).set_requires_grad(true);
}

std::vector<double> listed(const at::Tensor& t) {
  const at::Tensor values = t.detach().to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

/// Returns the largest quotient of the error of a row and its limit.
double worstRow(const at::Tensor& run, const std::vector<double>& exact,
                const std::vector<double>& limits) {
  const at::Tensor error =
      (run.detach().to(at::kDouble).flatten() - at::tensor(exact, at::kDouble)).view({-1, kWidth});
  return (error.norm(2, 1) / at::tensor(limits, at::kDouble)).max().item<double>();
}

/// Attends on one device in float32, and compares it with verify's fp64 attention.
void expectWithinLimits(std::int64_t length, double mean_v, double mean_k, double mean_dout) {
  SCOPED_TRACE(length);
  const at::Tensor q = rows(length, 0), k = rows(length, mean_k), v = rows(length, mean_v),
                   dout = rows(length, mean_dout).detach();
  const double scale = 0.25;
  const at::Tensor out = at::scaled_dot_product_attention(q, k, v, {}, 0, false, scale);
  const auto gradients = torch::autograd::grad({out}, {q, k, v}, {dout});
  const auto q_list = listed(q), k_list = listed(k), v_list = listed(v), dout_list = listed(dout);
  traces::AttentionInputs in;
  in.batch = 1;
  in.heads = in.kv_heads = kHeads;
  in.head_dim = kWidth;
  in.scale = scale;
  for (std::int64_t i = 0; i < length; ++i) in.q_tokens.push_back(traces::TokenIndex::of(i));
  in.k_tokens = in.q_tokens;
  in.q = q_list;
  in.k = k_list;
  in.v = v_list;
  in.dout = dout_list;
  const traces::Precision precision{
      traces::DType::kFloat32, traces::MergedBlocks::whole(static_cast<std::size_t>(length)), 1};
  const auto [values, limits] = traces::attendWithLimits(in, precision, listed(out));
  EXPECT_LT(worstRow(out, values.out, limits.out), 1);
  EXPECT_LT(worstRow(gradients[0], values.dq, limits.dq), 1);
  EXPECT_LT(worstRow(gradients[1], values.dk, limits.dk), 1);
  EXPECT_LT(worstRow(gradients[2], values.dv, limits.dv), 1);
}

TEST(LongSumsTest, ValuesWithACommonDirectionStayWithinTheirLimits) {
  at::manual_seed(5);
  for (const std::int64_t length : {128, 384, 512, 1024, 2048}) expectWithinLimits(length, 4, 0, 0);
}

TEST(LongSumsTest, KeysWithACommonDirectionStayWithinTheirLimits) {
  at::manual_seed(6);
  for (const std::int64_t length : {128, 384, 512, 1024, 2048}) expectWithinLimits(length, 0, 4, 0);
}

TEST(LongSumsTest, GradientsWithACommonDirectionStayWithinTheirLimits) {
  at::manual_seed(7);
  for (const std::int64_t length : {128, 384, 512, 1024, 2048}) expectWithinLimits(length, 0, 0, 8);
}

}  // namespace
}  // namespace ringscope::engine
