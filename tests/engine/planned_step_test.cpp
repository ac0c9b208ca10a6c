// SPDX-License-Identifier: Apache-2.0
// The planned operations of ranks in a training step, compared with the recorded ones.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/engine/sample_training.h"
#include "tests/engine/small_model.h"
#include "traces/analysis/clock/calibration.h"
#include "traces/analysis/clock/recorded_program.h"
#include "traces/format/schema/names.h"

namespace ringscope::engine {
namespace {

using traces::Balance;
using traces::Direction;
using traces::EventKind;
using traces::Order;
using traces::Payload;
using traces::Rotate;
using traces::Strategy;

/// The number and bytes of each kind of operation of one rank, by name.
using Operations = std::map<std::string, std::pair<int, std::int64_t>>;

/// Adds messages and collectives with their bytes, and stages. The engine attends a block in
/// several pieces, which a plan counts once, so a block counts once.
class OperationCounter {
 public:
  void add(EventKind kind, const traces::Place& place, Payload payload, std::int64_t bytes,
           WorldRank source) {
    const bool transfer = kind == EventKind::kSend || kind == EventKind::kReceive ||
                          kind == EventKind::kWait || kind == EventKind::kCollective;
    if (kind == EventKind::kCollective && payload != Payload::kActivations &&
        payload != Payload::kGrads)
      return;  // numbers of the loss and the norm are not planned
    if (kind == EventKind::kShard) return;
    std::string key = std::string(name(kind)) + " " + name(place.direction);
    if (transfer) key += std::string(" ") + name(payload);
    const bool block = kind == EventKind::kAttend ||
                       (kind == EventKind::kMerge && place.direction == Direction::kForward);
    if (block && !blocks_.insert({kind, place.direction, place.layer, source}).second) return;
    auto& [count, sum] = operations_[key];
    ++count;
    if (transfer && kind != EventKind::kWait) sum += bytes;
  }
  const Operations& operations() const { return operations_; }

 private:
  Operations operations_;
  std::set<std::tuple<EventKind, Direction, traces::Layer, WorldRank>> blocks_;
};

void expectAsRecorded(const TrainConfig& config, const std::string& words) {
  test::TempDir dir;
  const auto trace = recorded(config, dir.file("a.rscope"));
  const traces::RecordedProgram step = traces::recordedProgram(*trace, 0, 0);
  ASSERT_TRUE(step.usable()) << words;
  const auto device = traces::deviceSpeed(traces::devicePreset("h100").value, *trace->run(), 1);
  const traces::Program plan =
      traces::plannedProgram(*trace->run(), traces::recordedModelSizes(*trace), device);
  for (const WorldRank rank : config.mesh().ranks()) {
    OperationCounter planned, happened;
    for (const auto& event : plan.ranks[config.mesh().placeFor(rank).cp.index()].events)
      planned.add(event.kind, event.place, event.payload, event.bytes, event.source_rank);
    for (const traces::Event& event : step.events[rank.index()])
      happened.add(event.kind, event.place, event.payload, event.bytes, event.source_rank);
    EXPECT_EQ(planned.operations(), happened.operations()) << words << ", rank " << rank.value();
  }
}

TrainConfig configOf(Strategy strategy, int cp) {
  TrainConfig config = sampleConfig(cp, 1);
  test::takeSmallModel(config);
  config.capture = "none";
  config.strategy = strategy;
  return config;
}

class PlannedStrategyTest : public testing::TestWithParam<std::pair<Strategy, int>> {};

TEST_P(PlannedStrategyTest, HasTheStagesAndMessagesOfARecordedStep) {
  using traces::MaskKind;
  struct StrategyCase {
    MaskKind mask;
    Balance balance;
    Rotate rotate;
    Order order;
  };
  const auto [strategy, cp] = GetParam();
  const bool rings = strategy == Strategy::kRing || strategy == Strategy::kHybrid;
  for (const StrategyCase& c :
       {StrategyCase{MaskKind::kFull, Balance::kNone, Rotate::kP2p, Order::kDiagonalFirst},
        StrategyCase{MaskKind::kCausal, Balance::kHeadTail, Rotate::kAllGather,
                     Order::kDiagonalLast},
        StrategyCase{MaskKind::kCausal, Balance::kNone, Rotate::kAllGather, Order::kDiagonalFirst},
        StrategyCase{MaskKind::kWindow, Balance::kStriped, Rotate::kP2p, Order::kDiagonalLast},
        StrategyCase{MaskKind::kWindow, Balance::kHeadTail, Rotate::kP2p, Order::kDiagonalFirst}}) {
    TrainConfig config = configOf(strategy, cp);
    config.mask = c.mask;
    config.window = c.mask == MaskKind::kWindow ? 20 : 0;
    config.balance = c.balance;
    if (rings) config.rotate = c.rotate;
    if (rings) config.order = c.order;
    expectAsRecorded(config, std::string(name(c.mask)) + ", " + name(c.balance));
  }
}

TEST(PlannedStepTest, IsAsRecordedOnOtherMeshesAndInOtherTypes) {
  for (const auto& [dp, tp, cp] : {std::array{2, 1, 1}, std::array{1, 2, 1}, std::array{1, 1, 2},
                                   std::array{2, 1, 2}, std::array{1, 2, 2}, std::array{2, 2, 1}})
    for (const bool narrow : {false, true}) {
      TrainConfig config = configOf(Strategy::kRing, cp);
      config.dp = dp;
      config.tp = tp;
      config.batch = 2;
      config.dtype = narrow ? traces::DType::kBFloat16 : traces::DType::kFloat32;
      config.fp8 = config.recompute = narrow;
      expectAsRecorded(config, "dp " + std::to_string(dp) + ", tp " + std::to_string(tp) + ", cp " +
                                   std::to_string(cp) + (narrow ? ", recompute" : ""));
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, PlannedStrategyTest,
    testing::Values(std::pair{Strategy::kRing, 1}, std::pair{Strategy::kRing, 2},
                    std::pair{Strategy::kRing, 4}, std::pair{Strategy::kAllGather, 4},
                    std::pair{Strategy::kUlysses, 2}, std::pair{Strategy::kHybrid, 4}),
    [](const auto& test) {
      return std::string(name(test.param.first)) + "_cp" + std::to_string(test.param.second);
    });

}  // namespace
}  // namespace ringscope::engine
