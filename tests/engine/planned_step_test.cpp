// SPDX-License-Identifier: Apache-2.0
// The planned operations of ranks in a training step, compared with the recorded ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "tests/engine/sample_training.h"
#include "tests/engine/small_model.h"
#include "traces/analysis/clock/calibration.h"
#include "traces/analysis/clock/recorded_program.h"
#include "traces/format/schema/names.h"

namespace ringscope::engine {
namespace {

using traces::Balance;
using traces::EventKind;
using traces::Order;
using traces::Payload;
using traces::Rotate;
using traces::Strategy;

struct Sum {
  double events = 0;
  std::int64_t bytes = 0;
  double kernels = 0;
};
/// The operations of one rank, by name.
using Deeds = std::map<std::string, Sum>;

std::string nameFor(EventKind kind, traces::Direction direction, Payload payload) {
  return std::string(name(kind)) + " " + name(direction) + " " + name(payload);
}

bool isMessage(EventKind kind, Payload payload) {
  if (kind == EventKind::kCollective)
    return payload == Payload::kActivations || payload == Payload::kGrads;
  return kind == EventKind::kSend || kind == EventKind::kReceive || kind == EventKind::kWait;
}

/// Reports whether events of a kind are planned. Cutting the batch into shards and other
/// collectives are not.
bool isPlanned(EventKind kind) {
  return kind != EventKind::kShard && kind != EventKind::kCollective;
}

/// Adds the kernels that the stages of a schedule represent.
void addKernels(Deeds& deeds, const traces::Program::Rank& rank) {
  for (const traces::Program::Op& op : rank.ops) {
    if (op.kernels == 0) continue;
    const traces::Program::Happening& event = rank.events[op.event];
    deeds[nameFor(event.kind, event.place.direction, Payload::kNone)].kernels += op.kernels;
  }
}

Deeds planned(const traces::PlannedWork& plan, std::size_t rank) {
  Deeds deeds;
  addKernels(deeds, plan.schedule.ranks[rank]);
  for (const traces::PlannedStage& stage : plan.stages[rank])
    deeds[nameFor(stage.stage.first, stage.stage.second, Payload::kNone)].events +=
        stage.work.events;
  for (const auto& event : plan.schedule.ranks[rank].events) {
    if (!isMessage(event.kind, event.payload)) continue;
    Sum& sum = deeds[nameFor(event.kind, event.place.direction, event.payload)];
    ++sum.events;
    sum.bytes += event.kind == EventKind::kWait ? 0 : event.bytes;
  }
  return deeds;
}

Deeds recorded(const std::vector<traces::Event>& events) {
  Deeds deeds;
  for (const traces::Event& event : events) {
    const bool message = isMessage(event.kind, event.payload);
    const std::string deed =
        nameFor(event.kind, event.place.direction, message ? event.payload : Payload::kNone);
    if (!message && !isPlanned(event.kind)) continue;
    Sum& sum = deeds[deed];
    ++sum.events;
    sum.bytes += message && event.kind != EventKind::kWait ? event.bytes : 0;
  }
  return deeds;
}

void expectAsRecorded(const TrainConfig& config, const std::string& words) {
  test::TempDir dir;
  const auto trace = recorded(config, dir.file("a.rscope"));
  const traces::RecordedProgram step = traces::recordedProgram(*trace, 0, 0);
  ASSERT_TRUE(step.usable()) << words;
  const auto plan = traces::plannedWork(*trace->run(), traces::recordedModelSizes(*trace));
  for (const WorldRank rank : config.mesh().ranks()) {
    const Deeds should = planned(plan, config.mesh().placeFor(rank).cp.index());
    Deeds is = recorded(step.events[rank.index()]);
    addKernels(is, step.program.ranks[rank.index()]);
    is.erase(nameFor(EventKind::kShard, traces::Direction::kForward, Payload::kNone));
    for (const auto& [deed, sum] : should) {
      const auto found = is.find(deed);
      const Sum was = found == is.end() ? Sum{} : found->second;
      EXPECT_EQ(sum.events, was.events) << words << ", rank " << rank.value() << ": " << deed;
      EXPECT_NEAR(sum.kernels, was.kernels, 1e-4)
          << words << ", rank " << rank.value() << ": kernels of " << deed;
      EXPECT_EQ(sum.bytes, was.bytes)
          << words << ", rank " << rank.value() << ": bytes of " << deed;
    }
    for (const auto& [deed, sum] : is)
      EXPECT_TRUE(should.contains(deed)) << words << ", rank " << rank.value() << ": " << deed;
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
  const auto [strategy, cp] = GetParam();
  for (const auto balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped})
    for (const auto rotate : {Rotate::kP2p, Rotate::kAllGather})
      for (const auto order : {Order::kDiagonalFirst, Order::kDiagonalLast})
        for (const std::int64_t window : {-1, 0, 20}) {
          TrainConfig config = configOf(strategy, cp);
          config.balance = balance;
          config.mask = window < 0    ? traces::MaskKind::kFull
                        : window == 0 ? traces::MaskKind::kCausal
                                      : traces::MaskKind::kWindow;
          config.window = std::max<std::int64_t>(0, window);
          if (window < 0 && balance != Balance::kNone) continue;  // a full mask needs no balance
          const bool rings = strategy == Strategy::kRing || strategy == Strategy::kHybrid;
          if (!rings && (rotate != Rotate::kP2p || order != Order::kDiagonalFirst)) continue;
          config.rotate = rotate;
          config.order = order;
          expectAsRecorded(config, std::string(name(config.mask)) + ", " + name(balance) + ", " +
                                       name(rotate) + ", " + name(order));
        }
}

TEST(PlannedStepTest, IsAsRecordedOnOtherMeshesAndInOtherTypes) {
  for (const auto& [dp, tp, cp] : {std::array{2, 1, 1}, std::array{1, 2, 1}, std::array{1, 1, 2},
                                   std::array{2, 1, 2}, std::array{1, 2, 2}, std::array{2, 2, 1}})
    for (const auto dtype : {traces::DType::kFloat32, traces::DType::kBFloat16})
      for (const bool fp8 : {false, true})
        for (const bool recompute : {false, true}) {
          TrainConfig config = configOf(Strategy::kRing, cp);
          config.dp = dp;
          config.tp = tp;
          config.batch = 2;
          config.dtype = dtype;
          config.fp8 = fp8;
          config.recompute = recompute;
          expectAsRecorded(config, "dp " + std::to_string(dp) + ", tp " + std::to_string(tp) +
                                       ", cp " + std::to_string(cp) + ", " + name(dtype) +
                                       (fp8 ? ", fp8" : "") + (recompute ? ", recompute" : ""));
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
