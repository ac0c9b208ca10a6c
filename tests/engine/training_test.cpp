// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/engine/sample_training.h"
#include "tests/support/expect_error.h"

namespace ringscope::engine {
namespace {

TEST(TrainingTest, LossFallsOnTheSampleText) {
  TrainConfig config = sampleConfig(4, 50);
  config.seq_len = 256;
  const auto outcome = run(config);
  EXPECT_LT(outcome.steps.back().loss, 0.65 * outcome.steps.front().loss);
}

TEST(TrainingTest, TwoRunsWithOneSeedAreBitIdentical) {
  const auto a = run(sampleConfig(4, 3)), b = run(sampleConfig(4, 3));
  for (const auto& [name, weight] : a.weights)
    EXPECT_TRUE(at::equal(weight, b.weights.at(name))) << name;
}

TEST(TrainingTest, RecordingChangesNoNumber) {
  test::TempDir dir;
  TrainConfig config = sampleConfig(4, 2);
  const auto plain = run(config);
  config.verify = true;
  config.capture = "full";
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<traces::SqliteSink>(dir.file("a.rscope")));
  traces::Recorder recorder(4, std::move(sinks));
  const auto watched = run(config, &recorder);
  for (const auto& [name, weight] : plain.weights)
    EXPECT_TRUE(at::equal(weight, watched.weights.at(name))) << name;
}

TEST(TrainingTest, SteppingRingStepByRingStepChangesNoNumber) {
  const TrainConfig config = sampleConfig(4, 2);
  const auto plain = run(config);
  Gate gate(config.cp);
  gate.pause();
  std::thread debugger([&] {
    while (gate.waitUntilStopped()) gate.step(StepUnit::kStage);
  });
  const auto stepped = runTraining(config, gate, nullptr);
  debugger.join();
  for (const auto& [name, weight] : plain.weights)
    EXPECT_TRUE(at::equal(weight, stepped.weights.at(name))) << name;
}

TEST(TrainingTest, StopEndsTheRunCleanly) {
  Gate gate(4);
  const auto outcome = runTraining(sampleConfig(4, 1000), gate, nullptr,
                                   {[&](const StepLog& s) {
                                      if (s.step == 2) gate.stop();
                                    },
                                    {}});
  EXPECT_TRUE(outcome.stopped);
  EXPECT_LT(outcome.steps.size(), 10u);
}

TEST(TrainingTest, ConfigurationsThatCannotWorkAreRefusedBeforeAnythingRuns) {
  TrainConfig config = sampleConfig(3, 1);
  EXPECT_ERROR(run(config), ErrorCode::kUsage, "does not divide");
  config = sampleConfig(2, 1);
  config.seq_len = 1 << 20;
  EXPECT_ERROR(run(config), ErrorCode::kInput, "one block of");
  config = sampleConfig(2, 1);
  config.text.clear();
  EXPECT_ERROR(run(config), ErrorCode::kUsage, "nothing to train on");
  config = sampleConfig(2, 1);
  config.mistakes = {"unknown"};
  EXPECT_ERROR(run(config), ErrorCode::kUsage, "not in the catalogue");
  config.mistakes.clear();
  config.model_dir = "/nonexistent";
  EXPECT_ERROR(run(config), ErrorCode::kInput, "no such file");
  config.model_dir = test::reference("llama/model");
  config.tokens = test::reference("llama/ref.safetensors");
  config.text.clear();
  EXPECT_ERROR(run(config), ErrorCode::kInput, "no tensor 'input_ids'");
}

TEST(TrainingTest, AHundredRightStepsStayWithinTheirLimits) {
  TrainConfig config = sampleConfig(4, 100);
  config.seq_len = 64;
  config.verify = true;
  const TrainOutcome outcome = run(config);
  ASSERT_GT(outcome.diffs.size(), 5000U);
  for (const auto& diff : outcome.diffs)
    EXPECT_LE(diff.ratio, 1) << diff.tensor << " of step " << diff.place.train_step;
}

/// Rows are long enough for kernels to work in blocks, whose partial results they keep in bfloat16.
TEST(TrainingTest, RightStepsOfLongRowsInBfloat16StayWithinTheirLimits) {
  struct Case {
    int cp;
    traces::Strategy strategy;
    int seed;
  };
  for (const Case& each :
       {Case{4, traces::Strategy::kUlysses, 1}, Case{2, traces::Strategy::kRing, 5},
        Case{2, traces::Strategy::kAllGather, 1}, Case{2, traces::Strategy::kRing, 3}}) {
    TrainConfig config = sampleConfig(each.cp, 4);
    config.strategy = each.strategy;
    config.seed = each.seed;
    config.seq_len = 512;
    config.dtype = traces::DType::kBFloat16;
    config.verify = true;
    for (const auto& diff : run(config).diffs)
      EXPECT_LE(diff.ratio, 0.95) << diff.tensor << " of step " << diff.place.train_step << ", "
                                  << traces::name(each.strategy) << " over " << each.cp;
  }
}

}  // namespace
}  // namespace ringscope::engine
