// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "engine/attention/schedule.h"
#include "engine/observe/memory_tracker.h"
#include "engine/tensors/tensor_io.h"
#include "engine/train/training_run.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "traces/diff/summary.h"
#include "traces/doctor/diagnosis.h"
#include "traces/query/flows.h"
#include "traces/storage/sqlite_sink.h"

namespace ringscope::engine {
namespace {

TrainConfig sampleConfig(int cp, int steps) {
  TrainConfig config;
  config.text_files = {test::sampleText()};
  config.cp = cp;
  config.steps = steps;
  config.seq_len = 128;
  return config;
}

TrainOutcome run(const TrainConfig& config, traces::Recorder* recorder = nullptr,
                 const TrainHooks& hooks = {}) {
  Gate gate(config.cp);
  return runTraining(config, gate, recorder, hooks);
}

/// Trains into a file and opens it.
std::shared_ptr<traces::Trace> recorded(const TrainConfig& config, const std::string& path) {
  {
    std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
    sinks.push_back(std::make_unique<traces::SqliteSink>(path));
    traces::Recorder recorder(config.cp, std::move(sinks));
    run(config, &recorder);
  }
  return traces::openTrace(path);
}

TEST(RunSwitchesTest, WhatIsAskedBeforeTheRunBeginsIsNotForgotten) {
  RunSwitches switches;
  EXPECT_EQ(switches.inject("naive_sum_merge"), 0);
  switches.setCapture(CapturePolicy::parse("stats"));
  switches.begin({"missing_position_ids"}, CapturePolicy::none());
  EXPECT_TRUE(switches.capture().keepsAnything());
  EXPECT_NE(switches.seamsOf(0).merge, Seams().merge);
  EXPECT_FALSE(switches.seamsOf(0).sharded_buffers.contains("position_ids"));
  EXPECT_EQ(switches.lift("naive_sum_merge"), 1);
  EXPECT_NE(switches.seamsOf(0).merge, Seams().merge) << "step 0 has begun with it";
  EXPECT_EQ(switches.seamsOf(1).merge, Seams().merge);
}

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

TEST(TrainingFaultTest, ARankThatThrowsEndsTheRunWithItsRankPlaceAndReasonAndTheTraceOpens) {
  test::TempDir dir;
  for (const int rank : {0, 3})
    for (const auto direction : {traces::Direction::kForward, traces::Direction::kBackward}) {
      const traces::Place place{1, 1, direction, 2};
      std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
      sinks.push_back(std::make_unique<traces::SqliteSink>(dir.file("a.rscope")));
      traces::Recorder recorder(4, std::move(sinks));
      const TrainHooks hooks{{}, [&](int r, const traces::Place& at) {
                               if (r == rank && at == place)
                                 throw std::runtime_error("the cable was pulled");
                             }};
      EXPECT_ERROR(run(sampleConfig(4, 3), &recorder, hooks), ErrorCode::kRunFailed,
                   "rank " + std::to_string(rank) + " failed at " + traces::describe(place) +
                       ": the cable was pulled");
      recorder.close();
      EXPECT_GT(traces::openTrace(dir.file("a.rscope"))->eventCount(), 100u);
    }
}

TEST(TrainingTest, ConfigurationsThatCannotWorkAreRefusedBeforeAnythingRuns) {
  TrainConfig config = sampleConfig(3, 1);
  EXPECT_ERROR(run(config), ErrorCode::kUsage, "does not divide");
  config = sampleConfig(2, 1);
  config.seq_len = 1 << 20;
  EXPECT_ERROR(run(config), ErrorCode::kInput, "one block of");
  config = sampleConfig(2, 1);
  config.text_files.clear();
  EXPECT_ERROR(run(config), ErrorCode::kUsage, "nothing to train on");
  config = sampleConfig(2, 1);
  config.mistakes = {"unknown"};
  EXPECT_ERROR(run(config), ErrorCode::kUsage, "not in the catalogue");
  config.mistakes.clear();
  config.model_dir = "/nonexistent";
  EXPECT_ERROR(run(config), ErrorCode::kInput, "no such file");
  config.model_dir = test::reference("llama/model");
  config.token_file = test::reference("llama/ref.safetensors");
  config.text_files.clear();
  EXPECT_ERROR(run(config), ErrorCode::kInput, "no tensor 'input_ids'");
}

TEST(RecordedRunTest, HopsAndBytesAreThoseOfTheTableAndEveryOneIsMatched) {
  test::TempDir dir;
  for (const int cp : {2, 4}) {
    const auto trace = recorded(sampleConfig(cp, 1), dir.file("a.rscope"));
    const ExpectedHops expected = expectedHops(false, Order::kDiagonalFirst, cp, 1);
    const std::int64_t block = 2 * 2 * (128 / cp) * 32 * 4;  // K and V, 2 heads of 32, float32
    for (int rank = 0; rank < cp; ++rank)
      for (int layer = 0; layer < 2; ++layer) {
        auto hops = [&](traces::Payload p, traces::Direction d) {
          return traces::countHops(*trace, rank, p, 0, layer, d);
        };
        EXPECT_EQ(hops(traces::Payload::kKv, traces::Direction::kForward).hops,
                  expected.kv_forward);
        EXPECT_EQ(hops(traces::Payload::kKv, traces::Direction::kForward).bytes,
                  expected.kv_forward * block);
        EXPECT_EQ(hops(traces::Payload::kKv, traces::Direction::kBackward).hops,
                  expected.kv_backward);
        EXPECT_EQ(hops(traces::Payload::kDkv, traces::Direction::kBackward).hops,
                  expected.dkv_backward);
      }
    for (const auto payload : {traces::Payload::kKv, traces::Payload::kDkv})
      for (const auto& flow : traces::matchFlows(*trace, payload)) {
        ASSERT_TRUE(flow.send && flow.receive);
        EXPECT_EQ(flow.send->source_rank, flow.receive->source_rank);
        EXPECT_EQ(flow.send->bytes, flow.receive->bytes);
      }
  }
}

TEST(RecordedRunTest, EveryBlockIsTheSameOneWhereverItIsSeen) {
  test::TempDir dir;
  const auto trace = recorded(sampleConfig(4, 1), dir.file("a.rscope"));
  std::map<int, std::uint64_t> hash_of_source;
  for (int rank = 0; rank < 4; ++rank)
    for (std::int16_t step = 0; step < 4; ++step) {
      const auto* kv = trace->findTensor("kv", {0, 0, traces::Direction::kForward, step}, rank);
      ASSERT_NE(kv, nullptr);
      const int source = (rank - step + 4) % 4;
      EXPECT_EQ(hash_of_source.try_emplace(source, kv->hash).first->second, kv->hash);
    }
  EXPECT_EQ(hash_of_source.size(), 4u);
}

TEST(RecordedRunTest, ShardsPositionsLseAndMemoryAreThere) {
  test::TempDir dir;
  const auto trace = recorded(sampleConfig(4, 1), dir.file("a.rscope"));
  for (int rank = 0; rank < 4; ++rank) {
    for (const char* buffer : {"input_ids", "labels", "position_ids"}) {
      const auto* shard = trace->findShard(buffer, 0, rank);
      ASSERT_NE(shard, nullptr);
      EXPECT_EQ(shard->global_from_local,
                (std::vector<traces::TokenRun>{{rank * 16, rank * 16 + 16},
                                               {(7 - rank) * 16, (8 - rank) * 16}}));
    }
    const auto positions = trace->values(*trace->findTensor("position_ids", {0}, rank));
    EXPECT_EQ(positions->front(), rank * 16);
    for (const char* lse : {"block_lse", "running_lse"})
      EXPECT_NE(trace->findTensor(lse, {0, 0, traces::Direction::kForward, 0}, rank), nullptr);
    EXPECT_FALSE(trace->memory(rank).empty());
  }
}

TEST(RecordedRunTest, CorrectRunsHaveNoFindingAndStayWithinNoise) {
  test::TempDir dir;
  for (const int cp : {1, 2, 4, 8})
    for (const char* balance : {"none", "head_tail"}) {
      TrainConfig config = sampleConfig(cp, 2);
      config.balance = balance;
      config.verify = true;
      config.seed = static_cast<std::uint64_t>(cp);
      const auto trace = recorded(config, dir.file("a.rscope"));
      const auto diagnosis = traces::diagnose(*trace);
      EXPECT_TRUE(diagnosis.findings().empty()) << traces::toText(diagnosis);
      EXPECT_EQ(diagnosis.count(traces::Verdict::kNotObservable), 0);
      const auto summary = traces::summarize(*trace);
      EXPECT_EQ(summary.diverging, 0)
          << "cp " << cp << " " << balance << ": "
          << (summary.first_divergence ? traces::describe(*summary.first_divergence) : "");
    }
}

class InjectedMistake : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(InjectedMistake, IsNamedByTheDoctorAndSeenByTheDiffAndNowhereWritten) {
  const auto& [id, cp] = GetParam();
  test::TempDir dir;
  TrainConfig config = sampleConfig(cp, 2);
  config.mistakes = {id};
  config.verify = true;
  const auto trace = recorded(config, dir.file("a.rscope"));
  const auto findings = traces::diagnose(*trace).findings();
  ASSERT_EQ(findings.size(), 1u) << "one cause, one finding";
  EXPECT_EQ(findings.front().rule, id);
  EXPECT_EQ(findings.front().confidence, "certain");
  EXPECT_FALSE(findings.front().evidence.empty());
  EXPECT_FALSE(findings.front().remedy.empty());
  EXPECT_GT(traces::summarize(*trace).diverging, 0);
  // The file holds no trace of the injection: this recording sealed nothing, and says nothing.
  std::ifstream in(dir.file("a.rscope"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(bytes.find(id), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, InjectedMistake,
                         testing::Combine(testing::Values("missing_position_ids", "naive_sum_merge",
                                                          "missing_cp_grad_reduce"),
                                          testing::Values(2, 4, 8)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_cp" +
                                  std::to_string(std::get<1>(test.param));
                         });

TEST(DiffTest, TheBirthplaceOfAnErrorIsNamed) {
  test::TempDir dir;
  TrainConfig config = sampleConfig(4, 1);
  config.verify = true;
  config.mistakes = {"naive_sum_merge"};
  auto first = *traces::summarize(*recorded(config, dir.file("a.rscope"))).first_divergence;
  EXPECT_TRUE(first.isolated);
  EXPECT_EQ(traces::describe(first), "layer 0, out");
  config.mistakes = {"missing_position_ids"};
  first = *traces::summarize(*recorded(config, dir.file("b.rscope"))).first_divergence;
  EXPECT_FALSE(first.isolated) << "each attention was right for what it was given";
  EXPECT_EQ(traces::describe(first), "layer 0, q");
}

TEST(MemoryTrackerTest, CategoriesAddUpAndAForeignFreeIsFound) {
  auto tracker = std::make_shared<MemoryTracker>(2);
  at::Tensor kept;
  {
    const MemoryTracker::Attachment attachment(tracker, 1);
    const MemoryScope scope(MemoryCategory::kKv);
    kept = at::empty({1000}, at::kFloat);
    const MemoryScope inner(MemoryCategory::kQ);
    const at::Tensor passing = at::empty({500}, at::kFloat);
    EXPECT_EQ(tracker->bytes(1, MemoryCategory::kQ), 2000);
    EXPECT_EQ(tracker->total(1), 6000);
  }
  EXPECT_EQ(tracker->bytes(1, MemoryCategory::kKv), 4000);
  std::thread([&] {
    const MemoryTracker::Attachment attachment(tracker, 0);
    kept = at::Tensor();
  }).join();
  EXPECT_EQ(tracker->total(1), 0) << "freed by another rank's thread, counted for its owner";
  EXPECT_EQ(tracker->peak(1).bytes, 6000);
}

}  // namespace
}  // namespace ringscope::engine
