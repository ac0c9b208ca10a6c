// SPDX-License-Identifier: Apache-2.0
// Every strategy with every combination of mask, balance, order and rotation that can run, compared
// with results computed elsewhere, with fp64, and with the table of hops.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/attend/attend.h"
#include "engine/kernels/block_attention.h"
#include "engine/kernels/fp8.h"
#include "engine/tensors/tensor_io.h"
#include "tests/engine/strategy_cases.h"
#include "tests/support/campaign.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/largest_difference.h"

namespace ringscope::engine {
namespace {

using test::Combination;
using test::expectEqualsReference;
using test::expectHops;
using test::largestDifference;
using traces::Order;
using traces::Rotate;
using traces::Strategy;

class StrategyCases : public testing::TestWithParam<test::Combination> {};

TEST_P(StrategyCases, EqualUnshardedAttentionWithinOneDevicesNoise) {
  expectEqualsReference(GetParam(), GetParam().config());
}

INSTANTIATE_TEST_SUITE_P(Matrix, StrategyCases, testing::ValuesIn(test::combinations()),
                         [](const auto& test) { return test.param.name(); });

TEST(StrategyMatrixTest, RejectsUnsupportedCombinationsWithAnAlternative) {
  auto refused = [](const std::string& file, Combination c) {
    const auto in = AttendInput::load(test::reference("attention/" + file + ".safetensors"));
    Gate gate(c.cp);
    attend(in, c.config(), gate);
  };
  EXPECT_ERROR(refused("causal", {"", "ulysses", "none", "p2p", "diagonal_first", 8}),
               ErrorCode::kUsage, "do not divide among 8 Ulysses ranks");
  EXPECT_ERROR(refused("causal", {"", "hybrid", "none", "p2p", "diagonal_first", 8, 3}),
               ErrorCode::kUsage, "does not divide cp = 8");
  EXPECT_ERROR(refused("documents", {"", "ring", "per_document"}), ErrorCode::kUsage, "--pad");
  EXPECT_ERROR(refused("causal", {"", "ring", "per_document"}), ErrorCode::kUsage, "cu_seqlens");
  EXPECT_ERROR(refused("causal", {"", "ring", "ptrr"}), ErrorCode::kUsage, "cu_seqlens");
  EXPECT_ERROR(refused("full", {"", "ring", "striped"}), ErrorCode::kUsage, "use --balance none");
  EXPECT_ERROR(refused("causal", {"", "spiral", "none"}), ErrorCode::kUsage,
               "use ring, all_gather, ulysses or hybrid");
}

/// A random configuration that can run.
struct RandomCase {
  AttendInput in;
  AttendConfig config;
  std::string text;
};

Mask randomMask(std::mt19937& random, std::int64_t length) {
  switch (random() % 5) {
    case 0:
      return Mask::full();
    case 1:
      return Mask::causalMask();
    case 2:
      return Mask::slidingWindow(1 + static_cast<std::int64_t>(random() % (length + 3)));
    default: {
      Mask mask{true, random() % 2 ? 0 : 1 + static_cast<std::int64_t>(random() % length), {}};
      for (std::int64_t at = 0; at < length;) {
        const std::int64_t end =
            std::min(length, at + 1 + static_cast<std::int64_t>(random() % length));
        if (random() % 6) mask.documents.push_back({at, end});  // otherwise padding
        at = end;
      }
      if (mask.documents.empty()) mask.documents.push_back({0, length});
      return mask;
    }
  }
}

/// Draws a case of `shortest` to `longest` tokens.
RandomCase randomCase(std::mt19937& random, std::int64_t shortest, std::int64_t longest) {
  auto pick = [&](const auto& list) { return list[random() % list.size()]; };
  RandomCase c;
  const int cp = pick(std::vector<int>{1, 2, 3, 4, 6, 8});
  const std::int64_t kv = 1 + random() % 3, group = 1 + random() % 3, heads = kv * group;
  const auto lengths = static_cast<unsigned>(longest - shortest + 1);
  const std::int64_t length = shortest + static_cast<std::int64_t>(random() % lengths),
                     width = pick(std::vector<int>{4, 8, 24});
  const auto type = pick(
      std::vector<at::ScalarType>{at::kFloat, at::kFloat, at::kDouble, at::kBFloat16, at::kHalf});
  auto tensor = [&](std::int64_t h) {
    return at::randn({1 + static_cast<std::int64_t>(length % 2), h, length, width}, at::kFloat)
        .to(type);
  };
  c.in = {tensor(heads), tensor(kv), tensor(kv), tensor(heads), randomMask(random, length), 0.4};
  if (random() % 4 == 0) c.in.sinks = at::randn({heads}) * 2;
  using traces::Balance;
  c.config = test::attendConfig(cp);
  std::vector strategies = {Strategy::kRing, Strategy::kAllGather, Strategy::kHybrid};
  if (heads % cp == 0) strategies.push_back(Strategy::kUlysses);
  c.config.strategy = pick(strategies);
  c.config.rotate = pick(std::vector{Rotate::kP2p, Rotate::kAllGather, Rotate::kAllToAll});
  c.config.order = pick(std::vector{Order::kDiagonalFirst, Order::kDiagonalLast});
  std::vector balances = {Balance::kNone};
  if (c.in.mask.causal) balances.insert(balances.end(), {Balance::kHeadTail, Balance::kStriped});
  std::int64_t covered = 0;
  for (const auto& d : c.in.mask.documents) covered = d.begin == covered ? d.end : -1;
  if (covered == length) balances.push_back(Balance::kPerDocument);
  if (!c.in.mask.documents.empty()) balances.push_back(Balance::kPtrr);
  c.config.balance = pick(balances);
  c.config.pad = true;
  c.text = std::string(traces::name(c.config.strategy)) + " " + traces::name(c.config.rotate) +
           " " + traces::name(c.config.order) + " " + traces::name(*c.config.balance) + " cp " +
           std::to_string(cp) + " heads " + std::to_string(heads) + "/" + std::to_string(kv) +
           " of " + std::to_string(width) + " length " + std::to_string(length) + " " +
           traces::name(c.in.mask.kind()) + " window " + std::to_string(c.in.mask.window) + " " +
           c10::toString(type) + (c.in.sinks.defined() ? " sinks" : "");
  return c;
}

void expectEqualsFp64(const RandomCase& c, test::Campaign& campaign) {
  SCOPED_TRACE(campaign.text() + ": " + c.text);
  Gate gate(c.config.cp);
  const auto outcome = attend(c.in, c.config, gate);
  for (const auto& diff : verifyAttend(c.in, outcome)) {
    EXPECT_LE(diff.ratio, 1) << diff.tensor << " at " << testing::PrintToString(diff.worst_index)
                             << ": off by " << diff.error << ", of size " << diff.scale;
    campaign.largest("share_of_limit", diff.ratio);
  }
  expectHops(outcome, c.config, c.in.q.size(1), false);
}

TEST(StrategyPropertyTest, RandomConfigurationsEqualFp64) {
  for (test::Campaign campaign(300, 20261121); campaign.next();) {
    at::manual_seed(campaign.random()());
    expectEqualsFp64(randomCase(campaign.random(), 1, 150), campaign);
  }
}

TEST(StrategyPropertyTest, LongRandomConfigurationsEqualFp64) {
  for (test::Campaign campaign(2, 20261123); campaign.next();) {
    at::manual_seed(campaign.random()());
    expectEqualsFp64(randomCase(campaign.random(), 513, 2048), campaign);
  }
}

/// With K = 0 every allowed key has the same weight. With V one-hot by key, out then shows which
/// keys a query really attended, independent of pieces and masks.
TEST(StrategyCoverageTest, OneHotValuesShowExactlyTheKeysOfTheMask) {
  constexpr std::int64_t kLength = 24;
  for (const char* strategy : {"ring", "all_gather", "ulysses", "hybrid"})
    for (const char* balance : {"none", "head_tail", "striped"})
      for (const Mask& mask :
           {Mask::causalMask(), Mask::slidingWindow(5), Mask::packed({0, 7, 11, 24}, kLength),
            Mask{true, 4, {{0, 9}, {10, 24}}}}) {
        AttendInput in;
        in.q = at::randn({1, 4, kLength, kLength});
        in.k = at::zeros({1, 4, kLength, kLength});
        in.v = at::eye(kLength).expand({1, 4, kLength, kLength}).contiguous();
        in.dout = at::zeros_like(in.q);
        in.mask = mask;
        in.scale = 1;
        AttendConfig config = test::attendConfig(4, traces::parse<traces::Balance>(balance));
        config.strategy = traces::parse<traces::Strategy>(strategy);
        config.forward_only = true;
        Gate gate(4);
        const at::Tensor out = attend(in, config, gate).tensors.at("out");
        auto allows = [&](std::int64_t q, std::int64_t k) {
          return mask.allows(TokenIndex::of(q), TokenIndex::of(k));
        };
        for (std::int64_t q = 0; q < kLength; ++q) {
          int allowed = 0;
          for (std::int64_t k = 0; k < kLength; ++k) allowed += allows(q, k);
          for (std::int64_t k = 0; k < kLength; ++k)
            ASSERT_NEAR(out[0][2][q][k].item<float>(), allows(q, k) ? 1.0 / allowed : 0, 1e-6)
                << strategy << " " << balance << " " << traces::name(mask.kind()) << " " << q << " "
                << k;
        }
      }
}

TEST(StrategyFp8Test, TheErrorDoesNotGrowWithRanksAndTheWireIsSmaller) {
  at::manual_seed(4);
  AttendInput in;
  in.q = at::randn({1, 4, 128, 32}, at::kBFloat16);
  in.k = at::randn_like(in.q);
  in.v = at::randn_like(in.q);
  in.dout = at::randn_like(in.q);
  in.scale = 0.2;
  for (const int cp : {1, 2, 4, 8})
    for (const char* strategy : {"ring", "all_gather"}) {
      AttendConfig config = test::attendConfig(cp);
      config.strategy = traces::parse<traces::Strategy>(strategy);
      Gate plain_gate(cp), gate(cp);
      const auto plain = attend(in, config, plain_gate);
      config.fp8 = true;
      const auto outcome = attend(in, config, gate);
      for (const auto& diff : verifyAttend(in, outcome, true))
        EXPECT_LE(diff.ratio, 1) << diff.tensor << " cp " << cp << " " << strategy;
      EXPECT_LE(static_cast<double>(outcome.hops[0].bytes_forward),
                0.6 * static_cast<double>(plain.hops[0].bytes_forward));
    }
}

TEST(StrategyFp8Test, RoundingKeepsZerosAndTheLargestElementOfEachRow) {
  const at::Tensor x = at::tensor({0.0f, 0.0f, 1.0f, -3.0f}).view({2, 2});
  const at::Tensor y = roundedToFp8(x);
  EXPECT_TRUE(at::equal(y[0], x[0]));
  EXPECT_FLOAT_EQ(y[1][1].item<float>(), -3);
}

TEST(StrategyTest, EveryStrategyIsBitIdenticalOverRepeats) {
  const auto in = AttendInput::load(test::reference("attention/causal_gqa.safetensors"));
  for (const char* strategy : {"ring", "all_gather", "ulysses", "hybrid"}) {
    AttendConfig config = test::attendConfig(4);
    config.strategy = traces::parse<traces::Strategy>(strategy);
    Gate a(4), b(4);
    const auto first = attend(in, config, a), second = attend(in, config, b);
    for (const auto& [name, tensor] : first.tensors)
      EXPECT_TRUE(at::equal(tensor, second.tensors.at(name))) << strategy << " " << name;
  }
}

TEST(AttendLayoutTest, TheSameTensorsInAnotherOrderGiveTheSameResult) {
  test::TempDir dir;
  const std::string path = test::reference("attention/causal.safetensors");
  const auto in = AttendInput::load(path);
  const std::map<std::string, std::vector<std::int64_t>> orders = {{"BSHD", {0, 2, 1, 3}},
                                                                   {"SBHD", {2, 0, 1, 3}}};
  for (const auto& [layout, order] : orders) {
    std::map<std::string, at::Tensor> tensors;
    for (const auto& [name, t] : std::map<std::string, at::Tensor>{
             {"q", in.q}, {"k", in.k}, {"v", in.v}, {"dout", in.dout}})
      tensors[name] = t.permute(order).contiguous();
    saveTensors(dir.file(layout), tensors, {{"layout", layout}, {"mask", "causal"}});
    const auto other = AttendInput::load(dir.file(layout));
    EXPECT_TRUE(at::equal(other.q, in.q)) << layout;
    EXPECT_TRUE(at::equal(other.v, in.v)) << layout;
  }
  saveTensors(dir.file("THD"),
              {{"q", in.q[0].permute({1, 0, 2}).contiguous()},
               {"k", in.k[0].permute({1, 0, 2}).contiguous()},
               {"v", in.v[0].permute({1, 0, 2}).contiguous()},
               {"dout", in.dout[0].permute({1, 0, 2}).contiguous()},
               {"cu_seqlens", at::tensor({0, static_cast<int>(in.q.size(2))}, at::kInt)}},
              {{"layout", "THD"}, {"mask", "documents"}});
  EXPECT_TRUE(at::equal(AttendInput::load(dir.file("THD")).q, in.q.slice(0, 0, 1)));
}

}  // namespace
}  // namespace ringscope::engine
