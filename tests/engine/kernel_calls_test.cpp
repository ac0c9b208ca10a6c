// SPDX-License-Identifier: Apache-2.0
// The planned work of kernels, against the calls that ranks make of PyTorch's kernel.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <vector>

#include "engine/attention/strategies/registry.h"
#include "engine/launch/rank_threads.h"
#include "tests/engine/flash_calls.h"
#include "traces/format/schema/names.h"
#include "traces/plan/run_rules.h"

namespace ringscope::engine {
namespace {

using traces::Direction;
using traces::KernelWork;
using traces::MaskKind;
using traces::Strategy;

using WorkOfRank = std::map<std::pair<GroupRank, Direction>, KernelWork>;

class CountedCalls;
thread_local CountedCalls* counting = nullptr;

/// Counts the calls of its thread while it lives.
class CountedCalls {
 public:
  CountedCalls() {
    counting = this;
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&CountedCalls::called)
                                             .needsInputs(true)
                                             .scopes({at::RecordScope::FUNCTION}));
  }
  ~CountedCalls() {
    at::removeCallback(handle_);
    counting = nullptr;
  }
  CountedCalls(const CountedCalls&) = delete;
  CountedCalls& operator=(const CountedCalls&) = delete;

  const KernelWork& of(Direction direction) { return work_[direction]; }

 private:
  static std::unique_ptr<at::ObserverContext> called(const at::RecordFunction& call) {
    const std::string name = call.name();
    if (name == "aten::_scaled_dot_product_flash_attention_for_cpu")
      counting->count(Direction::kForward, call.inputs(), 0, 4);
    if (name == "aten::_scaled_dot_product_flash_attention_for_cpu_backward")
      counting->count(Direction::kBackward, call.inputs(), 1, 7);
    return nullptr;
  }
  void count(Direction direction, c10::ArrayRef<const c10::IValue> in, std::size_t q,
             std::size_t causal) {
    const at::Tensor rows = in[q].toTensor(), keys = in[q + 1].toTensor();
    test::addCall(work_[direction], rows.size(2), keys.size(2), in[causal].toBool());
  }

  at::CallbackHandle handle_ = 0;
  std::map<Direction, KernelWork> work_;
};

/// Returns the work of each rank that attends one layer, forward and backward.
WorkOfRank counted(const traces::RunSpec& run, at::ScalarType type) {
  RankThreadOptions options;
  options.mesh.cp = run.cp;
  Gate gate(run.cp);
  std::mutex mutex;
  WorkOfRank all;
  const ShardLayout layout(run.seq_len, run.cp, traces::chosenBalance(run));
  runRankThreads(options, gate, [&](RankContext& context) {
    const std::int64_t length = run.seq_len / run.cp;
    const at::Tensor q = at::randn({1, run.model.heads, length, 8}).to(type),
                     k = at::randn({1, run.model.kv_heads, length, 8}).to(type);
    const auto op = makeAttention(context, run, layout, Mask::of(run), {0.25, {}});
    CountedCalls calls;
    const auto result = op->forward(q, k, k, Layer::of(0));
    op->backward(q, q, k, k, result, Layer::of(0));
    const std::lock_guard lock(mutex);
    for (const Direction direction : {Direction::kForward, Direction::kBackward})
      all[{context.rank(), direction}] = calls.of(direction);
  });
  return all;
}

/// Returns the planned work of all blocks that a rank attends.
KernelWork planned(const traces::RunSpec& run, GroupRank rank, Direction direction) {
  const int together = traces::ulyssesSize(run);
  const auto of_rings = traces::kernelWork(run, together, direction);
  KernelWork all;
  for (const KernelWork& work : of_rings[rank.index() / static_cast<std::size_t>(together)]) {
    all.pairs += work.pairs;
    all.calls += work.calls;
  }
  return all;
}

std::string wordsOf(const traces::RunSpec& run, GroupRank rank, Direction direction) {
  return std::string(name(run.strategy)) + ", " + name(run.mask) + ", " + name(*run.balance) +
         ", " + name(run.dtype) + ", cp " + std::to_string(run.cp) + ", length " +
         std::to_string(run.seq_len) + ", rank " + std::to_string(rank.value()) + ", " +
         name(direction);
}

void expectAsPlanned(const traces::RunSpec& run) {
  const auto type = run.dtype == traces::DType::kBFloat16 ? at::kBFloat16 : at::kFloat;
  for (const auto& [where, calls] : counted(run, type)) {
    const KernelWork plan = planned(run, where.first, where.second);
    const std::string words = wordsOf(run, where.first, where.second);
    EXPECT_EQ(plan.calls, calls.calls) << words;
    EXPECT_EQ(plan.pairs, calls.pairs) << words;
  }
}

traces::RunSpec runOf(Strategy strategy, int cp, std::int64_t length) {
  traces::RunSpec run;
  run.command = traces::Command::kTrain;
  run.strategy = strategy;
  run.cp = cp;
  run.seq_len = length;
  run.model.heads = 4;
  run.model.kv_heads = 4;
  run.balance = traces::Balance::kNone;
  return run;
}

class KernelCallsTest : public testing::TestWithParam<std::pair<Strategy, int>> {};

TEST_P(KernelCallsTest, AreThoseThatThePlanCounts) {
  const auto [strategy, cp] = GetParam();
  for (const auto dtype : {traces::DType::kFloat32, traces::DType::kBFloat16})
    for (const auto balance :
         {traces::Balance::kNone, traces::Balance::kHeadTail, traces::Balance::kStriped})
      for (const std::int64_t length : {64, 1024})
        for (const std::int64_t window : {-1, 0, 5, 100}) {
          traces::RunSpec run = runOf(strategy, cp, length);
          run.dtype = dtype;
          run.balance = balance;
          run.mask = window < 0    ? MaskKind::kFull
                     : window == 0 ? MaskKind::kCausal
                                   : MaskKind::kWindow;
          run.window = std::max<std::int64_t>(0, window);
          expectAsPlanned(run);
        }
}

INSTANTIATE_TEST_SUITE_P(
    All, KernelCallsTest,
    testing::Values(std::pair{Strategy::kRing, 1}, std::pair{Strategy::kRing, 2},
                    std::pair{Strategy::kRing, 4}, std::pair{Strategy::kAllGather, 2},
                    std::pair{Strategy::kUlysses, 2}, std::pair{Strategy::kUlysses, 4},
                    std::pair{Strategy::kHybrid, 4}),
    [](const auto& test) {
      return std::string(name(test.param.first)) + "_cp" + std::to_string(test.param.second);
    });

}  // namespace
}  // namespace ringscope::engine
