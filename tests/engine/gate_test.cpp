// SPDX-License-Identifier: Apache-2.0
#include "engine/control/gate.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <random>
#include <thread>

namespace ringscope::engine {
namespace {

using traces::Direction;
using traces::Place;

constexpr int kStages = 4, kLayers = 2;

/// Rank threads that pass gates at their own pace, as a training run does.
class Runners {
 public:
  Runners(Gate& gate, int ranks, int steps)
      : gate_(gate), passed_(static_cast<std::size_t>(ranks)) {
    for (int r = 0; r < ranks; ++r) threads_.emplace_back([=, this] { run(r, steps); });
  }
  ~Runners() {
    for (auto& thread : threads_) thread.join();
  }
  std::vector<int> passed() const { return {passed_.begin(), passed_.end()}; }

 private:
  void run(int rank, int steps) {
    std::mt19937 random(static_cast<unsigned>(rank));
    try {
      for (int step = 0; step < steps; ++step)
        for (std::int16_t layer = 0; layer < kLayers; ++layer)
          for (std::int16_t stage = 0; stage < kStages; ++stage) {
            if (random() % 3 == 0)
              std::this_thread::sleep_for(std::chrono::microseconds(random() % 50));
            gate_.arrive(rank, {step, layer, Direction::kForward, stage});
            ++passed_[static_cast<std::size_t>(rank)];
          }
    } catch (const StopRequested&) {
    }
    gate_.leave(rank);
  }
  Gate& gate_;
  std::vector<std::atomic<int>> passed_;
  std::vector<std::thread> threads_;
};

void expectAllEqual(const std::vector<int>& counts) {
  for (const int count : counts) EXPECT_EQ(count, counts.front());
}

TEST(GateTest, APauseStopsAllRanksAtTheSameGate) {
  Gate gate(4);
  Runners runners(gate, 4, 2000);
  for (int round = 0; round < 50; ++round) {
    gate.pause();
    const auto place = gate.waitUntilStopped();
    ASSERT_TRUE(place);
    expectAllEqual(runners.passed());
    gate.resume();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  gate.stop();
}

TEST(GateTest, AHoldEndsWithItsReleaseUnlessAPauseOrABreakWantsTheSameStop) {
  Gate gate(3);
  gate.setBreak(BreakPoint{3, {}, {}, 2});
  gate.hold();
  Runners runners(gate, 3, 100);
  EXPECT_EQ(gate.waitUntilStopped(), (Place{0, 0, Direction::kForward, 0}));
  gate.release();
  EXPECT_EQ(gate.waitUntilStopped(), (Place{3, 0, Direction::kForward, 2})) << "the break";
  gate.hold();
  gate.release();
  EXPECT_TRUE(gate.stoppedAt()) << "the run stood at its break before";
  gate.setBreak({});
  gate.step(StepUnit::kStage);
  gate.waitUntilStopped();
  gate.resume();
  gate.hold();
  gate.pause();
  ASSERT_TRUE(gate.waitUntilStopped());
  gate.release();
  EXPECT_TRUE(gate.stoppedAt()) << "a pause came meanwhile";
  gate.stop();
}

TEST(GateTest, ABreakMetWhileTheRunIsHeldOutlastsTheHold) {
  Gate gate(2);
  gate.setBreak(BreakPoint{0, 0, Direction::kForward, 0});
  gate.hold();
  Runners runners(gate, 2, 100);
  ASSERT_TRUE(gate.waitUntilStopped());
  gate.release();
  EXPECT_EQ(gate.stoppedAt(), (Place{0, 0, Direction::kForward, 0}));
  gate.stop();
}

TEST(GateTest, AStopWaitsForTheLastRankAndOutlastsAContinue) {
  Gate gate(2);
  gate.stop();
  std::atomic<bool> ended{false};
  std::thread first([&] {
    EXPECT_THROW(gate.arrive(0, {0, 0, Direction::kForward, 0}), StopRequested);
    ended = true;
    gate.leave(0);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(ended) << "its peer is still on its way here, and may need it";
  gate.resume();
  EXPECT_THROW(gate.arrive(1, {0, 0, Direction::kForward, 0}), StopRequested);
  gate.leave(1);
  first.join();
  EXPECT_TRUE(gate.over());
}

TEST(GateTest, StepsGoToTheNextStageLayerAndTrainingStep) {
  Gate gate(3);
  gate.pause();
  Runners runners(gate, 3, 100);
  EXPECT_EQ(gate.waitUntilStopped(), (Place{0, 0, Direction::kForward, 0}));
  EXPECT_TRUE(gate.step(StepUnit::kStage));
  EXPECT_EQ(gate.waitUntilStopped(), (Place{0, 0, Direction::kForward, 1}));
  EXPECT_TRUE(gate.step(StepUnit::kLayer));
  EXPECT_EQ(gate.waitUntilStopped(), (Place{0, 1, Direction::kForward, 0}));
  EXPECT_TRUE(gate.step(StepUnit::kTrainStep));
  EXPECT_EQ(gate.waitUntilStopped(), (Place{1, 0, Direction::kForward, 0}));
  expectAllEqual(runners.passed());
  gate.resume();
  EXPECT_FALSE(gate.step(StepUnit::kStage)) << "a running run cannot be stepped";
}

TEST(GateTest, StopEndsAllRanksAtTheSameGateWhereverTheyAre) {
  for (int round = 0; round < 30; ++round) {
    Gate gate(4);
    std::vector<int> passed;
    {
      Runners runners(gate, 4, 100000);
      std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
      if (round % 2) {
        gate.pause();
        gate.waitUntilStopped();
      }
      gate.stop();
      while (!gate.over()) std::this_thread::yield();
      passed = runners.passed();
    }
    expectAllEqual(passed);
  }
}

TEST(GateTest, APauseAfterTheEndSaysThatThereIsNothingToStop) {
  Gate gate(2);
  { Runners runners(gate, 2, 1); }
  gate.pause();
  EXPECT_FALSE(gate.waitUntilStopped());
  EXPECT_TRUE(gate.over());
}

TEST(GateTest, ARankThatIsHeldAtItsGateCanBePausedAndGoesOnWhenItIsLetGo) {
  Gate gate(2);
  std::atomic<bool> busy{true};
  std::atomic<int> through{0};
  auto run = [&](int rank) {
    gate.arrive(rank, {0, 0, Direction::kForward, 0});
    gate.arrive(rank, {0, -1, Direction::kBackward, -1}, [&] { return busy.load(); });
    ++through;
    gate.arrive(rank, {1, 0, Direction::kForward, 0});
    gate.leave(rank);
  };
  std::thread a(run, 0), b(run, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  gate.pause();
  EXPECT_EQ(gate.waitUntilStopped(), (Place{0, -1, Direction::kBackward, -1}));
  EXPECT_EQ(through, 0);
  gate.resume();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(through, 0) << "what it waits for has not come yet";
  busy = false;
  gate.poke();
  a.join();
  b.join();
  EXPECT_EQ(through, 2);
}

TEST(GateTest, ABreakStopsAllRanksAtEveryPlaceThatMatches) {
  Gate gate(3);
  gate.setBreak(BreakPoint{{}, std::int16_t{1}, {}, std::int16_t{2}});
  Runners runners(gate, 3, 4);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(gate.waitUntilStopped(), (Place{step, 1, Direction::kForward, 2}));
    expectAllEqual(runners.passed());
    gate.resume();
  }
  EXPECT_EQ(gate.waitUntilStopped(), std::nullopt);
}

TEST(GateTest, ABreakThatIsLiftedStopsNobody) {
  Gate gate(3);
  gate.pause();
  Runners runners(gate, 3, 4);
  ASSERT_TRUE(gate.waitUntilStopped());
  gate.setBreak(BreakPoint{{}, std::int16_t{1}, {}, {}});
  gate.setBreak({});
  gate.resume();
  EXPECT_EQ(gate.waitUntilStopped(), std::nullopt);
}

/// A process that passes gates of a shared gate until it is stopped or killed.
class GateProcess {
 public:
  GateProcess(Gate& gate, int rank) : pid_(::fork()) {
    if (pid_ != 0) return;
    try {
      for (std::int32_t step = 0;; ++step)
        for (std::int16_t stage = 0; stage < kStages; ++stage)
          gate.arrive(rank, {step, 0, Direction::kForward, stage});
    } catch (const StopRequested&) {
      gate.leave(rank);
    }
    ::_exit(0);
  }
  ~GateProcess() {
    kill();
    ::waitpid(pid_, nullptr, 0);
  }
  void kill() const { ::kill(pid_, SIGKILL); }

 private:
  pid_t pid_;
};

TEST(SharedGateTest, ProcessesStopAtTheSameGateAndAKilledOneBlocksNobody) {
  for (int round = 0; round < 20; ++round) {
    Gate gate(2, SharedMemory(Gate::bytesFor(2)));
    GateProcess a(gate, 0), b(gate, 1);
    gate.pause();
    const auto place = gate.waitUntilStopped();
    ASSERT_TRUE(place);
    EXPECT_TRUE(gate.step(StepUnit::kStage));
    EXPECT_NE(gate.waitUntilStopped(), place);
    gate.resume();
    std::this_thread::sleep_for(std::chrono::microseconds(137 * round));
    b.kill();  // at any moment, so also while it holds the gate's lock
    gate.pause();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (gate.onTheirWay().size() != 1 && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(gate.onTheirWay().size(), 1u);
    EXPECT_EQ(gate.onTheirWay().front().first, 1) << "the killed one never comes";
    gate.stop();
  }
}

}  // namespace
}  // namespace ringscope::engine
