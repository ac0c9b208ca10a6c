// SPDX-License-Identifier: Apache-2.0
// Changes to a running run: the step from which they apply, and changes that are rejected.
#include <gtest/gtest.h>

#include "tests/engine/injected_harness.h"

namespace ringscope::engine {
namespace {

/// Returns the merge of an out of 1 and a block of 3 with equal weights: 2, or 4 when the merge
/// only adds.
double mergedByThreeAndOne(const Seams& seams) {
  RunningResult running{at::ones({1, 1, 1, 1}), at::zeros({1, 1, 1})};
  const AttentionResult block{at::full({1, 1, 1, 1}, 3.0), at::zeros({1, 1, 1})};
  seams.attention.merge({}, running, block, 0);
  return running.out.item<double>();
}

bool cutsPositionIds(const Seams& seams) {
  std::vector<BufferCut> cuts = {{"position_ids", 1, ShardLayout(8, 2, Balance::kNone)}};
  seams.buffers.cuts({}, cuts);
  return !cuts.empty();
}

TEST(RunSwitchesTest, KeepsRequestsFromBeforeTheRunBegins) {
  RunSwitches switches;
  EXPECT_EQ(switches.inject("naive_sum_merge"), 0);
  switches.capture().set(CapturePolicy::parse("stats"));
  switches.begin({"missing_position_ids"}, CapturePolicy::none());
  EXPECT_TRUE(switches.capture().policy().keepsAnything());
  EXPECT_EQ(mergedByThreeAndOne(switches.seamsFor(0)), 4);
  EXPECT_FALSE(cutsPositionIds(switches.seamsFor(0)));
  EXPECT_EQ(switches.lift("naive_sum_merge"), 1);
  EXPECT_EQ(mergedByThreeAndOne(switches.seamsFor(0)), 4) << "step 0 has begun with it";
  EXPECT_EQ(mergedByThreeAndOne(switches.seamsFor(1)), 2);
  EXPECT_TRUE(cutsPositionIds(Seams()));
}

// -------- changes that cannot begin in the middle of a run

/// A run that has passed its checks.
struct Begun {
  explicit Begun(const TrainConfig& config) {
    switches.begin({}, CapturePolicy::none());
    switches.goOnWith(config);
  }
  RunSwitches switches;
};

TEST(RunSwitchesTest, AMistakeThatWouldChangeNothingOfTheRunIsRefusedAndNotKept) {
  TrainConfig config = training(1);
  config.model = {"sample", 2, 128, 4, 2, 32, 256};
  Begun run(config);
  EXPECT_ERROR(run.switches.inject("cp_not_applied"), ErrorCode::kUsage, "nothing on one rank");
  EXPECT_ERROR(run.switches.lift("cp_not_applied"), ErrorCode::kUsage, "is not injected");
  EXPECT_ERROR(run.switches.inject("heads_not_divisible"), ErrorCode::kUsage,
               "changes nothing where ranks share no heads");
  EXPECT_ERROR(run.switches.inject("naive_sum_merge"), ErrorCode::kUsage,
               "changes nothing on one rank; use a --cp above 1");
  EXPECT_EQ(run.switches.inject("lse_base2"), 0);
}

TEST(RunSwitchesTest, SettingsThatAreExpectedRefuseBeforeTheRunIsKnown) {
  RunSwitches switches;
  switches.expect(training(2));
  EXPECT_ERROR(switches.inject("recompute_differs"), ErrorCode::kUsage, "use --recompute");
  EXPECT_EQ(switches.inject("naive_sum_merge"), 0) << "what was refused is not kept";
}

TEST(RunSwitchesTest, AStepThatHasBegunIsRefused) {
  TrainConfig config = training(2);
  config.model = {"sample", 2, 128, 4, 2, 32, 256};
  config.steps = 3;
  Begun run(config);
  run.switches.seamsFor(1);
  EXPECT_ERROR(run.switches.inject("naive_sum_merge:step=1"), ErrorCode::kUsage,
               "use step=2 or a later one");
  run.switches.seamsFor(2);
  EXPECT_ERROR(run.switches.inject("naive_sum_merge"), ErrorCode::kUsage, "more --steps");
}

TEST(RunSwitchesTest, HowSequencesAreDealtIsNotChangedInTheMiddle) {
  for (const char* mistake : {"uneven_shards", "balance_cuts_documents"}) {
    Begun run(training(2));
    EXPECT_ERROR(run.switches.inject(mistake), ErrorCode::kUsage, "before its first step");
    RunSwitches before_the_run;
    EXPECT_EQ(before_the_run.inject(mistake), 0);
  }
}

TEST(RunSwitchesTest, RebuildsTheStrategyInTheMiddleOfARun) {
  for (const char* mistake : {"cp_not_applied", "wrong_process_group"}) {
    TrainConfig config = training(2);
    config.dp = config.batch = 2;
    config.steps = 4;
    expectNamed(mistake, 4, [&](traces::Recorder* recorder) {
      RunSwitches switches;
      TrainHooks hooks;
      hooks.switches = &switches;
      hooks.on_step = [&](const StepLog& log) {
        if (log.step == 0) switches.inject(mistake);
      };
      Gate gate(config.worldSize());
      runTraining(config, gate, recorder, hooks);
    });
  }
}

}  // namespace
}  // namespace ringscope::engine
