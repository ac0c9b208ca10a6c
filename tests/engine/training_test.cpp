// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <random>
#include <thread>

#include "engine/attention/schedule.h"
#include "engine/observe/memory_tracker.h"
#include "engine/tensors/tensor_io.h"
#include "engine/train/training_run.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "traces/core/clock.h"
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

/// What a rank thread does at a random place of a random run.
struct ThreadFault {
  TrainConfig config = sampleConfig(4, 3);
  int rank = 0;
  traces::Place place;

  explicit ThreadFault(std::mt19937& random) {
    auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    config.cp = std::vector<int>{2, 4, 8}[random() % 3];
    config.attention.strategy =
        std::vector<std::string>{"ring", "all_gather", "hybrid"}[random() % 3];
    config.balance = "none";
    rank = below(config.cp);
    const int rings = config.attention.strategy == "hybrid" ? config.cp / 2 : config.cp;
    const int steps = config.attention.strategy == "all_gather" ? 1 : rings;
    place = {1, static_cast<std::int16_t>(below(2)), static_cast<traces::Direction>(below(2)),
             static_cast<std::int16_t>(below(steps))};
  }
  std::string text() const {
    return config.attention.strategy + ", rank " + std::to_string(rank) + " of " +
           std::to_string(config.cp) + " at " + traces::describe(place);
  }
};

/// How many faults of each kind; the seed is printed.
int faultCount() {
  const char* asked = std::getenv("RINGSCOPE_THREAD_FAULTS");
  return asked ? std::atoi(asked) : 6;
}
unsigned faultSeed() {
  const char* asked = std::getenv("RINGSCOPE_THREAD_FAULT_SEED");
  const unsigned seed = asked ? static_cast<unsigned>(std::atoi(asked)) : 5;
  std::printf("seed %u\n", seed);
  return seed;
}

/// Runs it into a trace, which must open whatever happens; returns what the run said.
std::string sentenceOf(const ThreadFault& fault, const TrainHooks& hooks) {
  test::TempDir dir;
  std::string sentence;
  {
    std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
    sinks.push_back(std::make_unique<traces::SqliteSink>(dir.file("a.rscope")));
    traces::Recorder recorder(fault.config.cp, std::move(sinks));
    try {
      run(fault.config, &recorder, hooks);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kRunFailed);
      sentence = error.what();
    }
  }
  EXPECT_GT(traces::openTrace(dir.file("a.rscope"))->eventCount(), 20u) << fault.text();
  return sentence;
}

TEST(TrainingFaultTest, ARankThatThrowsEndsTheRunWithItsRankPlaceAndReasonAndTheTraceOpens) {
  std::mt19937 random(faultSeed());
  for (int i = 0; i < faultCount() && !HasFailure(); ++i) {
    const ThreadFault fault(random);
    const TrainHooks hooks{{}, [&](int rank, const traces::Place& at) {
                             if (rank == fault.rank && at == fault.place)
                               throw std::runtime_error("the cable was pulled");
                           }};
    EXPECT_EQ(sentenceOf(fault, hooks), "rank " + std::to_string(fault.rank) + " failed at " +
                                            traces::describe(fault.place) +
                                            ": the cable was pulled")
        << fault.text();
  }
}

TEST(TrainingFaultTest, ARankThatIsStuckIsNamedWithItsPlaceWithinItsDeadlineAndTwoSeconds) {
  std::mt19937 random(faultSeed());
  for (int i = 0; i < (faultCount() + 1) / 2 && !HasFailure(); ++i) {
    ThreadFault fault(random);
    fault.config.timeout = std::chrono::milliseconds(1500);
    std::atomic<bool> released{false};
    std::atomic<std::int64_t> stuck_ns{0};
    double named_after = 0;
    TrainHooks hooks;
    hooks.at_gate = [&](int rank, const traces::Place& at) {
      if (rank != fault.rank || at != fault.place) return;
      stuck_ns = traces::steadyNow();
      while (!released) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    };
    hooks.on_stuck = [&](const std::string&) {
      named_after = static_cast<double>(traces::steadyNow() - stuck_ns) * 1e-9;
      released = true;  // in a program of its own the process ends here
    };
    const std::string sentence = sentenceOf(fault, hooks);
    EXPECT_TRUE(sentence.starts_with("rank " + std::to_string(fault.rank) + " is stuck"))
        << fault.text() << ": " << sentence;
    EXPECT_NE(sentence.find(traces::describe(fault.place)), std::string::npos)
        << fault.text() << ": " << sentence;
    EXPECT_GT(named_after, 1.5);
    EXPECT_LT(named_after, 1.5 + 2);
  }
}

TEST(TrainingFaultTest, ALongBlockOfARankThreadIsNotStuck) {
  TrainConfig config = sampleConfig(2, 2);
  config.timeout = std::chrono::milliseconds(400);
  TrainHooks hooks;
  hooks.at_gate = [](int rank, const traces::Place& at) {
    if (rank != 1 || at != traces::Place{0, 1, traces::Direction::kForward, 0}) return;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
    while (std::chrono::steady_clock::now() < until) {
    }
  };
  EXPECT_EQ(run(config, nullptr, hooks).steps.size(), 2u);
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
