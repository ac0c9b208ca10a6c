// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/engine/sample_training.h"
#include "tests/support/campaign.h"
#include "tests/support/expect_error.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/clock.h"

namespace ringscope::engine {
namespace {

/// A fault of a rank thread at a random place of a random run.
struct ThreadFault {
  TrainConfig config = sampleConfig(4, 3);
  WorldRank rank = WorldRank::of(0);
  traces::Place place;

  explicit ThreadFault(std::mt19937& random) {
    auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    config.cp = std::vector<int>{2, 4, 8}[random() % 3];
    using traces::Strategy;
    config.strategy =
        std::vector{Strategy::kRing, Strategy::kAllGather, Strategy::kHybrid}[random() % 3];
    config.balance = traces::Balance::kNone;
    rank = WorldRank::of(below(config.cp));
    const int rings = config.strategy == Strategy::kHybrid ? config.cp / 2 : config.cp;
    const int steps = config.strategy == Strategy::kAllGather ? 1 : rings;
    place = {1, Layer::of(below(2)), static_cast<traces::Direction>(below(2)),
             RingStep::of(below(steps))};
  }
  std::string text() const {
    return std::string(traces::name(config.strategy)) + ", rank " + toString(rank) + " of " +
           std::to_string(config.cp) + " at " + traces::describe(place);
  }
};

/// Records the run into a trace, which must open in every case. Returns the error message.
std::string toSentence(const ThreadFault& fault, const TrainHooks& hooks) {
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

TEST(TrainingFaultTest, AThrowingRankIsReportedWithItsPlaceAndTheTraceOpens) {
  for (test::Campaign campaign(6, 5); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    const ThreadFault fault(campaign.random());
    const TrainHooks hooks{{}, [&](WorldRank rank, const traces::Place& at) {
                             if (rank == fault.rank && at == fault.place)
                               throw std::runtime_error("the cable was pulled");
                           }};
    EXPECT_EQ(toSentence(fault, hooks), "rank " + toString(fault.rank) + " failed at " +
                                            traces::describe(fault.place) +
                                            ": the cable was pulled")
        << fault.text();
  }
}

TEST(TrainingFaultTest, AStuckRankIsReportedWithItsPlaceSoonAfterItsDeadline) {
  for (test::Campaign campaign(3, 5); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    ThreadFault fault(campaign.random());
    fault.config.timeout = std::chrono::milliseconds(1500);
    std::atomic<bool> released{false};
    std::atomic<std::int64_t> stuck_ns{0};
    double named_after = 0;
    TrainHooks hooks;
    hooks.at_gate = [&](WorldRank rank, const traces::Place& at) {
      if (rank != fault.rank || at != fault.place) return;
      stuck_ns = traces::steadyNow();
      while (!released) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    };
    hooks.on_stuck = [&](const std::string&) {
      named_after = static_cast<double>(traces::steadyNow() - stuck_ns) * 1e-9;
      released = true;  // in a program of its own the process would end here
    };
    const std::string sentence = toSentence(fault, hooks);
    EXPECT_TRUE(sentence.starts_with("rank " + toString(fault.rank) + " is stuck"))
        << fault.text() << ": " << sentence;
    EXPECT_NE(sentence.find(traces::describe(fault.place)), std::string::npos)
        << fault.text() << ": " << sentence;
    campaign.largest("seconds_until_named", named_after);
    EXPECT_GT(named_after, 1.5);
    EXPECT_LT(named_after, 1.5 + 2);
  }
}

TEST(TrainingFaultTest, AWaitingRankNamesTheStuckRankByItsWorldRank) {
  TrainConfig config = sampleConfig(2, 2);
  config.dp = config.batch = 2;  // ranks 2 and 3 share a sequence
  config.timeout = std::chrono::milliseconds(1000);
  std::atomic<bool> released{false};
  TrainHooks hooks;
  hooks.at_gate = [&](WorldRank rank, const traces::Place& at) {
    const traces::Place stuck{0, Layer::of(0), traces::Direction::kForward, RingStep::of(0)};
    if (rank != WorldRank::of(3) || at != stuck) return;
    while (!released) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  hooks.on_stuck = [&](const std::string&) { released = true; };
  Gate gate(4);
  EXPECT_ERROR(runTraining(config, gate, nullptr, hooks), ErrorCode::kRunFailed,
               "rank 2 waits for rank 3");
}

TEST(TrainingFaultTest, ALongBlockOfARankThreadIsNotStuck) {
  TrainConfig config = sampleConfig(2, 2);
  config.timeout = std::chrono::milliseconds(400);
  TrainHooks hooks;
  hooks.at_gate = [](WorldRank rank, const traces::Place& at) {
    const traces::Place busy{0, Layer::of(1), traces::Direction::kForward, RingStep::of(0)};
    if (rank != WorldRank::of(1) || at != busy) return;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
    while (std::chrono::steady_clock::now() < until) {
    }
  };
  EXPECT_EQ(run(config, nullptr, hooks).steps.size(), 2u);
}

}  // namespace
}  // namespace ringscope::engine
