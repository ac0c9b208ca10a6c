// SPDX-License-Identifier: Apache-2.0
// The shapes and assertions of PyTorch's own ring attention test
// (test/distributed/tensor/test_attention.py, RingAttentionTest). The shape of q, k, v is (8, 8,
// 1024 · world, 32). Cases are causal or not, with and without balance, with both rotations,
// forward only or with backward. Results are compared with scaled dot product attention on one
// device. Upstream needs GPUs; the gradient of out is random here instead of ones.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/attend/attend.h"
#include "engine/data/sharded_batch.h"
#include "engine/kernels/block_attention.h"
#include "tests/engine/attend_config.h"
#include "tests/support/one_device.h"

namespace ringscope::engine {
namespace {

constexpr int kWorld = 2;

struct PyTorchCase {
  bool causal, balanced, forward_only;
  std::string rotate;
};

class PyTorchCases : public testing::TestWithParam<PyTorchCase> {
 protected:
  /// Returns one input for all cases, because creating and attending it takes longer than
  /// comparing.
  static const AttendInput& input() {
    static const AttendInput kInput = [] {
      at::manual_seed(10);
      AttendInput in;
      for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.dout})
        *t = at::randn({8, 8, 1024 * kWorld, 32});
      in.scale = 1 / std::sqrt(32.0);
      return in;
    }();
    return kInput;
  }
  static const std::map<std::string, at::Tensor>& oneDevice(bool causal) {
    static std::map<bool, std::map<std::string, at::Tensor>> kept;
    auto& tensors = kept[causal];
    if (!tensors.empty()) return tensors;
    const AttendInput& in = input();
    DeviceAttention device(causal ? Mask::causalMask() : Mask::full(), {in.scale});
    const auto r = device.forward(in.q, in.k, in.v, Layer::of(0));
    const auto g = device.backward(in.dout, in.q, in.k, in.v, r, Layer::of(0));
    return tensors = {{"out", r.out}, {"dq", g.dq}, {"dk", g.dk}, {"dv", g.dv}};
  }
};

TEST_P(PyTorchCases, RingAttentionEqualsScaledDotProductAttention) {
  const PyTorchCase& c = GetParam();
  AttendInput in = input();
  in.mask = c.causal ? Mask::causalMask() : Mask::full();
  AttendConfig config;
  config.cp = kWorld;
  config.balance = c.balanced ? traces::Balance::kHeadTail : traces::Balance::kNone;
  config.capture = "none";
  config.rotate = traces::parse<traces::Rotate>(c.rotate);
  config.forward_only = c.forward_only;
  Gate gate(kWorld);
  const auto outcome = attend(in, config, gate);
  for (const auto& [name, expected] : oneDevice(c.causal)) {
    if (c.forward_only && name != "out") continue;
    EXPECT_TRUE(at::allclose(outcome.tensors.at(name), expected, 1e-5 * kWorld, 2e-6 * kWorld * 2))
        << name << " " << (outcome.tensors.at(name) - expected).abs().max().item<double>();
  }
  // Upstream counts communication: one KV hop per step, and as many dKV hops as ranks.
  for (const HopTotals& hops : outcome.hops) {
    EXPECT_EQ(hops.kv_forward, kWorld - 1);
    EXPECT_EQ(hops.dkv_backward, c.forward_only ? 0 : kWorld);
  }
}

std::vector<PyTorchCase> pytorchCases() {
  std::vector<PyTorchCase> cases;
  for (const bool causal : {true, false})
    for (const bool balanced : {true, false})
      for (const char* rotate : {"alltoall", "allgather"})
        for (const bool forward_only : {true, false})
          if (causal || !balanced) cases.push_back({causal, balanced, forward_only, rotate});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, PyTorchCases, testing::ValuesIn(pytorchCases()), [](const auto& c) {
  return std::string(c.param.causal ? "causal" : "full") + (c.param.balanced ? "_balanced_" : "_") +
         c.param.rotate + (c.param.forward_only ? "_forward" : "");
});

/// Returns what a rank does with the block of a ring step, in upstream's terms.
std::string behaviour(const RingStage& stage) {
  if (stage.pieces.empty()) return "SKIP";
  for (const Piece& piece : stage.pieces)
    if (piece.mask == traces::PieceMask::kCausal) return "IS_CAUSAL";
  return "NOT_IS_CAUSAL";
}

/// Upstream's test_is_causal_behavior: its table by (rank, ring step).
TEST(PyTorchTablesTest, TheStepCasesAreThoseOfUpstreamsTable) {
  using Table = std::vector<std::vector<std::string>>;
  auto table = [](int world, Balance balance, const Mask& mask) {
    Table rows;
    for (const GroupRank rank : everyRank(world)) {
      rows.emplace_back();
      for (const RingStage& s :
           ringSchedule(ShardLayout(16 * world, world, balance), mask, rank).stages)
        rows.back().push_back(behaviour(s));
    }
    return rows;
  };
  EXPECT_EQ(table(4, Balance::kNone, Mask::full())[0][0], "NOT_IS_CAUSAL");
  EXPECT_EQ(table(2, Balance::kNone, Mask::causalMask()),
            (Table{{"IS_CAUSAL", "SKIP"}, {"IS_CAUSAL", "NOT_IS_CAUSAL"}}));
  EXPECT_EQ(table(2, Balance::kHeadTail, Mask::causalMask()),
            (Table{{"IS_CAUSAL", "NOT_IS_CAUSAL"}, {"IS_CAUSAL", "NOT_IS_CAUSAL"}}));
}

/// With balance, after step 0, upstream attends either all queries to the first half of the block
/// or the second half of the queries to the whole block.
TEST(PyTorchTablesTest, BalancedStepsAttendHalfAsUpstreamDoes) {
  const ShardLayout layout(64, 4, Balance::kHeadTail);
  for (const GroupRank rank : everyRank(4))
    for (const RingStage& stage : ringSchedule(layout, Mask::causalMask(), rank).stages) {
      if (stage.ring_step == RingStep::of(0)) continue;
      ASSERT_EQ(stage.pieces.size(), 1u);
      const Piece& p = stage.pieces.front();
      const Piece expected =
          stage.ring_step.value() <= rank.value() ? Piece{0, 16, 0, 8} : Piece{8, 16, 0, 16};
      EXPECT_EQ(p, expected) << toString(rank) << " " << toString(stage.ring_step);
    }
}

/// Upstream's test_context_parallel_shard: buffers of several shapes, cut along their own sequence
/// dimensions. With balance a rank has chunks r and 2·world − 1 − r.
TEST(PyTorchTablesTest, BuffersAreCutAsUpstreamCutsThem) {
  constexpr std::int64_t kRanks = 4, kLocal = 8, kLength = kRanks * kLocal;
  const std::vector<std::pair<at::Tensor, std::int64_t>> buffers = {
      {at::randn({2, 3, kLength, 5}), 2},
      {at::randn({4, kLength}), 1},
      {at::randn({kLength, 7}), 0}};
  for (const bool balanced : {false, true}) {
    const ShardLayout layout(kLength, kRanks, balanced ? Balance::kHeadTail : Balance::kNone);
    for (const auto& [full, dim] : buffers) {
      std::vector<at::Tensor> shards;
      for (const GroupRank rank : everyRank(kRanks)) {
        shards.push_back(shardFor(full, dim, layout, rank));
        const auto halves = full.chunk(2 * kRanks, dim);
        const std::size_t r = rank.index();
        const at::Tensor expected = balanced ? at::cat({halves[r], halves[2 * kRanks - 1 - r]}, dim)
                                             : full.chunk(kRanks, dim)[r];
        EXPECT_TRUE(at::equal(shards.back(), expected));
      }
      EXPECT_TRUE(at::equal(unshard(shards, dim, layout), full));  // context_parallel_unshard
    }
  }
}

/// Upstream's document masks: random documents whose lengths are multiples of 2·world, with the
/// head-tail and the per-document balancer, forward and backward.
TEST(PyTorchTablesTest, DocumentMasksEqualOneDeviceUnderBothBalancers) {
  at::manual_seed(12);
  constexpr std::int64_t kLength = 1024 * kWorld, kUnit = 2 * kWorld, kDocuments = 28;
  std::vector<std::int64_t> cu_seqlens = {0};
  for (std::int64_t d = 1; d < kDocuments; ++d) {
    const std::int64_t left = (kLength - cu_seqlens.back()) / kUnit - (kDocuments - d);
    const auto draw = at::randint(1, std::max<std::int64_t>(2, left / 4), {1}).item<std::int64_t>();
    cu_seqlens.push_back(cu_seqlens.back() + draw * kUnit);
  }
  cu_seqlens.push_back(kLength);
  AttendInput in;
  for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.dout}) *t = at::randn({2, 8, kLength, 32});
  in.scale = 1 / std::sqrt(32.0);
  in.mask = Mask::packed(cu_seqlens, kLength);
  const auto expected = test::oneDevice(in);
  for (const char* balance : {"head_tail", "per_document"})
    for (const char* strategy : {"ring", "all_gather"}) {
      AttendConfig config = test::attendConfig(kWorld, traces::parse<traces::Balance>(balance));
      config.strategy = traces::parse<traces::Strategy>(strategy);
      Gate gate(kWorld);
      const auto outcome = attend(in, config, gate);
      for (const auto& [name, tensor] : expected)
        EXPECT_TRUE(at::allclose(outcome.tensors.at(name), tensor, 1e-5, 2e-6 * kWorld))
            << name << " " << balance << " " << strategy << " "
            << (outcome.tensors.at(name) - tensor).abs().max().item<double>();
    }
}

}  // namespace
}  // namespace ringscope::engine
