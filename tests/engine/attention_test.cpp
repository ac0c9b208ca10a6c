// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/attend/attend.h"
#include "engine/kernels/block_attention.h"
#include "engine/kernels/merge.h"
#include "engine/kernels/reference.h"
#include "engine/tensors/tensor_io.h"
#include "tests/engine/attend_config.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/largest_difference.h"
#include "tests/support/one_device.h"

namespace ringscope::engine {
namespace {

using test::largestDifference;

struct Case {
  std::string file;
  int cp;
  std::string balance;
};

class ReferenceCases : public testing::TestWithParam<Case> {};

/// PyTorch computed the results in the files in fp64, independent of this project.
TEST_P(ReferenceCases, RingEqualsUnshardedAttentionWithinItsNoise) {
  const Case& c = GetParam();
  const std::string path = test::reference("attention/" + c.file + ".safetensors");
  const auto input = AttendInput::load(path);
  Gate gate(c.cp);
  const auto outcome =
      attend(input, test::attendConfig(c.cp, traces::parse<traces::Balance>(c.balance)), gate);
  const auto one_device = test::oneDevice(input);
  const auto file = traces::SafeTensorsFile::read(path);
  for (const auto& [name, plain] : one_device) {
    const at::Tensor exact = toTensor(file.at(name), name);
    const double error = largestDifference(outcome.tensors.at(name), exact);
    EXPECT_LE(error, 2.5 * largestDifference(plain, exact) + 1e-7) << name;
    if (input.q.scalar_type() == at::kFloat && c.file != "causal_wide_scores") {
      const at::Tensor allowed = exact.abs() * 1e-5 + 2e-6;
      EXPECT_TRUE(
          ((outcome.tensors.at(name).to(at::kDouble) - exact).abs() <= allowed).all().item<bool>())
          << name;
    }
  }
  const ExpectedHops expected = expectedHops(false, Order::kDiagonalFirst, c.cp, 1);
  for (const HopTotals& hops : outcome.hops) {
    EXPECT_EQ(hops.kv_forward, expected.kv_forward);
    EXPECT_EQ(hops.kv_backward, expected.kv_backward);
    EXPECT_EQ(hops.dkv_backward, expected.dkv_backward);
    const std::int64_t block = 2 * input.k.numel() / c.cp;
    EXPECT_EQ(hops.bytes_forward, block * expected.kv_forward * input.k.element_size());
    EXPECT_EQ(hops.bytes_backward,
              block * (expected.kv_backward * input.k.element_size() + expected.dkv_backward * 4))
        << "dK, dV travel in fp32";
  }
}

std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (const int cp : {1, 2, 4, 8}) {
    cases.push_back({"full", cp, "none"});
    for (const char* file : {"causal", "causal_gqa", "causal_wide_scores", "causal_bf16"})
      for (const char* balance : {"none", "head_tail"}) cases.push_back({file, cp, balance});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(AllCases, ReferenceCases, testing::ValuesIn(allCases()),
                         [](const auto& test) {
                           return test.param.file + "_cp" + std::to_string(test.param.cp) + "_" +
                                  test.param.balance;
                         });

TEST(ReferenceAttentionTest, EqualsTheFilesInFp64) {
  for (const char* name : {"full", "causal", "causal_gqa", "causal_wide_scores"}) {
    const std::string path = test::reference(std::string("attention/") + name + ".safetensors");
    const auto in = AttendInput::load(path);
    ReferenceAttention op(in.mask, {in.scale});
    const auto r = op.forward(in.q, in.k, in.v, Layer::of(0));
    const auto g = op.backward(in.dout, in.q, in.k, in.v, r, Layer::of(0));
    const auto file = traces::SafeTensorsFile::read(path);
    for (const auto& [tensor, value] : std::map<std::string, at::Tensor>{
             {"out", r.out}, {"lse", r.lse}, {"dq", g.dq}, {"dk", g.dk}, {"dv", g.dv}})
      EXPECT_LE(largestDifference(value, toTensor(file.at(tensor), tensor)), 1e-11)
          << name << " " << tensor;
  }
}

class MergeTest : public testing::Test {
 protected:
  at::Tensor q = at::randn({1, 2, 3, 4});
  AttentionResult block(double lse) { return {at::randn({1, 2, 3, 4}), at::full({1, 2, 3}, lse)}; }
};

TEST_F(MergeTest, ARowWithoutAKeyStaysZeroAndMinusInfinity) {
  RunningResult running = emptyRunningResult(q);
  mergeBlock(running, block(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_TRUE((running.out == 0).all().item<bool>());
  EXPECT_TRUE(at::isneginf(running.lse).all().item<bool>());
}

TEST_F(MergeTest, TheFirstBlockOfARowIsTakenAsItIs) {
  RunningResult running = emptyRunningResult(q);
  const auto first = block(3.5);
  mergeBlock(running, first, 0);
  EXPECT_TRUE(at::equal(running.out, first.out));
  EXPECT_TRUE(at::equal(running.lse, first.lse));
}

TEST_F(MergeTest, LargeLogSumExpsNeitherOverflowNorLoseSmallBlocks) {
  for (const double lse : {500.0, -500.0}) {
    RunningResult running = emptyRunningResult(q);
    const auto a = block(lse), b = block(lse + std::log(3.0));
    mergeBlock(running, a, 0);
    mergeBlock(running, b, 0);
    EXPECT_LE(largestDifference(running.out, a.out * 0.25 + b.out * 0.75), 2e-5);
    EXPECT_LE(largestDifference(running.lse, at::full({1, 2, 3}, lse + std::log(4.0))), 1e-4);
  }
}

TEST_F(MergeTest, OnlyTheRowsOfTheBlockAreTouched) {
  RunningResult running = emptyRunningResult(q);
  AttentionResult part{at::ones({1, 2, 1, 4}), at::zeros({1, 2, 1})};
  mergeBlock(running, part, 1);
  EXPECT_TRUE((running.out.slice(2, 1, 2) == 1).all().item<bool>());
  EXPECT_TRUE((running.out.slice(2, 0, 1) == 0).all().item<bool>());
  EXPECT_TRUE((running.out.slice(2, 2, 3) == 0).all().item<bool>());
}

TEST(AttendTest, RandomShapesEqualFp64) {
  std::mt19937 random(20);
  for (int round = 0; round < 40; ++round) {
    const int cp = 1 << random() % 4;
    AttendInput in;
    const std::int64_t kv = 1 << random() % 2, heads = kv * (1 + random() % 3),
                       length = 2 * cp * (1 + static_cast<int>(random() % 20));
    const std::int64_t batch = 1 + static_cast<int>(random() % 2), width = 8 << random() % 3;
    const auto type = random() % 4 == 0 ? at::kDouble : at::kFloat;
    in.q = at::randn({batch, heads, length, width}, type);
    in.dout = at::randn_like(in.q);
    in.k = at::randn({batch, kv, length, width}, type);
    in.v = at::randn_like(in.k);
    in.mask = random() % 3 ? Mask::causalMask() : Mask::full();
    in.scale = 0.3;
    const auto balance =
        random() % 2 && in.mask.causal ? traces::Balance::kHeadTail : traces::Balance::kNone;
    Gate gate(cp);
    const auto outcome = attend(in, test::attendConfig(cp, balance), gate);
    for (const auto& diff : verifyAttend(in, outcome))
      EXPECT_LE(diff.ratio, 1) << diff.tensor << " round " << round;
  }
}

TEST(AttendTest, TwoRunsAreBitIdentical) {
  const auto in = AttendInput::load(test::reference("attention/causal.safetensors"));
  Gate a(4), b(4);
  const auto first = attend(in, test::attendConfig(4), a),
             second = attend(in, test::attendConfig(4), b);
  for (const auto& [name, tensor] : first.tensors)
    EXPECT_TRUE(at::equal(tensor, second.tensors.at(name))) << name;
}

TEST(AttendTest, BadInputIsOneClearSentence) {
  test::TempDir dir;
  const std::string path = dir.file("in.safetensors");
  auto save = [&](at::IntArrayRef q, at::IntArrayRef k) {
    saveTensors(
        path,
        {{"q", at::zeros(q)}, {"dout", at::zeros(q)}, {"k", at::zeros(k)}, {"v", at::zeros(k)}});
  };
  save({1, 3, 8, 4}, {1, 2, 8, 4});
  EXPECT_ERROR(AttendInput::load(path), ErrorCode::kInput,
               "3 query heads do not divide into 2 key-value heads");
  save({1, 2, 8, 4}, {1, 2, 9, 4});
  EXPECT_ERROR(AttendInput::load(path), ErrorCode::kInput, "differ in batch, length or head size");
  save({1, 2, 8, 4}, {1, 2, 8, 4});
  EXPECT_ERROR(AttendInput::load(path, traces::MaskKind::kWindow), ErrorCode::kUsage,
               "at least 1 key");
  EXPECT_ERROR(AttendInput::load(path, traces::MaskKind::kCausal, 3), ErrorCode::kUsage,
               "would be ignored under the mask 'causal'; give --mask window");
  EXPECT_ERROR(AttendInput::load(path, traces::MaskKind::kDocuments), ErrorCode::kInput,
               "no tensor 'cu_seqlens'");
  saveTensors(path,
              {{"q", at::zeros({1, 2, 8, 4})},
               {"k", at::zeros({1, 2, 8, 4})},
               {"v", at::zeros({1, 2, 8, 4})},
               {"dout", at::zeros({1, 2, 8, 4})}},
              {{"mask", "round"}});
  EXPECT_ERROR(AttendInput::load(path), ErrorCode::kInput,
               "there is no mask 'round'; use full, causal, window or documents");
  saveTensors(path, {{"q", at::zeros({1, 2, 8, 4})}});
  EXPECT_ERROR(AttendInput::load(path), ErrorCode::kInput, "no tensor 'k'");
}

}  // namespace
}  // namespace ringscope::engine
