// SPDX-License-Identifier: Apache-2.0
#include "engine/gate/gate.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <random>
#include <thread>

#include "engine/plan.h"
#include "tests/support/campaign.h"
#include "tests/support/eventually.h"

namespace ringscope::engine {
namespace {

using traces::Direction;
using traces::Layer;
using traces::Place;
using traces::RingStep;

constexpr int kStages = 4, kLayers = 2;
constexpr GroupRank kRank0 = GroupRank::of(0), kRank1 = GroupRank::of(1);

/// Rank threads that pass gates at their own pace, as in a training run.
class Runners {
 public:
  Runners(Gate& gate, int ranks, int steps)
      : gate_(gate), passed_(static_cast<std::size_t>(ranks)) {
    for (const GroupRank r : everyRank(ranks)) threads_.emplace_back([=, this] { run(r, steps); });
  }
  ~Runners() {
    for (auto& thread : threads_) thread.join();
  }
  std::vector<int> passed() const { return {passed_.begin(), passed_.end()}; }

 private:
  void run(GroupRank rank, int steps) {
    std::mt19937 random(static_cast<unsigned>(rank.value()));
    try {
      for (int step = 0; step < steps; ++step)
        for (Layer layer = Layer::of(0); layer.value() < kLayers; layer = layer.next())
          for (RingStep stage = RingStep::of(0); stage.value() < kStages; stage = stage.next()) {
            if (random() % 3 == 0)
              std::this_thread::sleep_for(std::chrono::microseconds(random() % 50));
            gate_.arrive(rank, {step, layer, Direction::kForward, stage});
            ++passed_[rank.index()];
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
  for (test::Campaign campaign(10, 1); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    Gate gate(4);
    Runners runners(gate, 4, 100000);
    for (int pauses = 0; pauses < 5; ++pauses) {
      campaign.anyMoment(std::chrono::microseconds(500));
      gate.pause();
      EXPECT_TRUE(gate.waitUntilStopped());
      expectAllEqual(runners.passed());
      gate.resume();
    }
    gate.stop();
  }
}

TEST(GateTest, AHoldEndsWithItsReleaseUnlessAPauseOrABreakWantsTheSameStop) {
  Gate gate(3);
  gate.setBreak(BreakPoint{3, {}, {}, RingStep::of(2)});
  gate.hold();
  Runners runners(gate, 3, 100);
  EXPECT_EQ(gate.waitUntilStopped(),
            (Place{0, Layer::of(0), Direction::kForward, RingStep::of(0)}));
  gate.release();
  EXPECT_EQ(gate.waitUntilStopped(), (Place{3, Layer::of(0), Direction::kForward, RingStep::of(2)}))
      << "the break";
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
  gate.setBreak(BreakPoint{0, Layer::of(0), Direction::kForward, RingStep::of(0)});
  gate.hold();
  Runners runners(gate, 2, 100);
  ASSERT_TRUE(gate.waitUntilStopped());
  gate.release();
  EXPECT_EQ(gate.stoppedAt(), (Place{0, Layer::of(0), Direction::kForward, RingStep::of(0)}));
  gate.stop();
}

TEST(GateTest, AStopWaitsForTheLastRankAndOutlastsAContinue) {
  Gate gate(2);
  gate.stop();
  std::atomic<bool> ended{false};
  std::thread first([&] {
    EXPECT_THROW(gate.arrive(kRank0, {0, Layer::of(0), Direction::kForward, RingStep::of(0)}),
                 StopRequested);
    ended = true;
    gate.leave(kRank0);
  });
  const std::vector<std::pair<GroupRank, Place>> only_its_peer = {{kRank1, Place{}}};
  EXPECT_TRUE(test::eventually([&] { return gate.onTheirWay() == only_its_peer; }));
  EXPECT_FALSE(ended) << "its peer is still on its way here, and may need it";
  gate.resume();
  EXPECT_THROW(gate.arrive(kRank1, {0, Layer::of(0), Direction::kForward, RingStep::of(0)}),
               StopRequested);
  gate.leave(kRank1);
  first.join();
  EXPECT_TRUE(gate.over());
}

TEST(GateTest, StepsGoToTheNextStageLayerAndTrainingStep) {
  Gate gate(3);
  gate.pause();
  Runners runners(gate, 3, 100);
  EXPECT_EQ(gate.waitUntilStopped(),
            (Place{0, Layer::of(0), Direction::kForward, RingStep::of(0)}));
  EXPECT_TRUE(gate.step(StepUnit::kStage));
  EXPECT_EQ(gate.waitUntilStopped(),
            (Place{0, Layer::of(0), Direction::kForward, RingStep::of(1)}));
  EXPECT_TRUE(gate.step(StepUnit::kLayer));
  EXPECT_EQ(gate.waitUntilStopped(),
            (Place{0, Layer::of(1), Direction::kForward, RingStep::of(0)}));
  EXPECT_TRUE(gate.step(StepUnit::kTrainStep));
  EXPECT_EQ(gate.waitUntilStopped(),
            (Place{1, Layer::of(0), Direction::kForward, RingStep::of(0)}));
  expectAllEqual(runners.passed());
  gate.resume();
  EXPECT_FALSE(gate.step(StepUnit::kStage)) << "a running run cannot be stepped";
}

TEST(GateTest, StopEndsAllRanksAtTheSameGateWhereverTheyAre) {
  for (test::Campaign campaign(30, 1); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    Gate gate(4);
    std::vector<int> passed;
    {
      Runners runners(gate, 4, 100000);
      campaign.anyMoment(std::chrono::microseconds(3000));
      if (campaign.random()() % 2) {
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
  std::array<std::atomic<int>, 2> asked{};
  auto run = [&](GroupRank rank) {
    gate.arrive(rank, {0, Layer::of(0), Direction::kForward, RingStep::of(0)});
    gate.arrive(rank, {0, Layer::none(), Direction::kBackward, {}}, [&, rank] {
      ++asked[rank.index()];
      return busy.load();
    });
    ++through;
    gate.arrive(rank, {1, Layer::of(0), Direction::kForward, RingStep::of(0)});
    gate.leave(rank);
  };
  std::thread a(run, kRank0), b(run, kRank1);
  // The callback runs under the gate's lock: a rank that has called it is held.
  EXPECT_TRUE(test::eventually([&] { return asked[0] > 0 && asked[1] > 0; }));
  gate.pause();
  EXPECT_EQ(gate.waitUntilStopped(), (Place{0, Layer::none(), Direction::kBackward, {}}));
  EXPECT_EQ(through, 0);
  const int before[] = {asked[0], asked[1]};
  gate.resume();
  EXPECT_TRUE(test::eventually([&] { return asked[0] > before[0] && asked[1] > before[1]; }));
  EXPECT_EQ(through, 0) << "what it waits for has not come yet";
  busy = false;
  gate.poke();
  a.join();
  b.join();
  EXPECT_EQ(through, 2);
}

TEST(GateTest, ABreakStopsAllRanksAtEveryPlaceThatMatches) {
  Gate gate(3);
  gate.setBreak(BreakPoint{{}, Layer::of(1), {}, RingStep::of(2)});
  Runners runners(gate, 3, 4);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(gate.waitUntilStopped(),
              (Place{step, Layer::of(1), Direction::kForward, RingStep::of(2)}));
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
  gate.setBreak(BreakPoint{{}, Layer::of(1), {}, {}});
  gate.setBreak({});
  gate.resume();
  EXPECT_EQ(gate.waitUntilStopped(), std::nullopt);
}

/// A process that passes gates of a shared gate until it is stopped or killed.
class GateProcess {
 public:
  GateProcess(Gate& gate, GroupRank rank) : pid_(::fork()) {
    if (pid_ != 0) return;
    try {
      for (std::int32_t step = 0;; ++step)
        for (RingStep stage = RingStep::of(0); stage.value() < kStages; stage = stage.next())
          gate.arrive(rank, {step, Layer::of(0), Direction::kForward, stage});
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
  for (test::Campaign campaign(20, 1); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    Gate gate(2, SharedMemory(Gate::bytesFor(2)));
    GateProcess a(gate, kRank0), b(gate, kRank1);
    gate.pause();
    const auto place = gate.waitUntilStopped();
    ASSERT_TRUE(place);
    EXPECT_TRUE(gate.step(StepUnit::kStage));
    EXPECT_NE(gate.waitUntilStopped(), place);
    gate.resume();
    campaign.anyMoment(std::chrono::microseconds(2500));
    b.kill();  // at any moment, so possibly while the process holds the gate's lock
    gate.pause();
    ASSERT_TRUE(test::eventually([&] { return gate.onTheirWay().size() == 1; }));
    EXPECT_EQ(gate.onTheirWay().front().first, kRank1) << "the killed one never comes";
    gate.stop();
  }
}

}  // namespace
}  // namespace ringscope::engine
