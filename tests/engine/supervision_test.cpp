// SPDX-License-Identifier: Apache-2.0
// Rank processes that are killed, fail or hang at every ring step. Each is named with its place
// within a second, the recording can be opened, and no process is left behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "engine/launch/rank_supervisor.h"
#include "engine/train/training_run.h"
#include "tests/support/campaign.h"
#include "tests/support/files.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/clock.h"
#include "traces/format/core/error.h"
#include "traces/format/storage/sqlite_sink.h"
#include "traces/format/trace/trace.h"

namespace ringscope::engine {
namespace {

using traces::Direction;

/// A fault and its place.
struct Fault {
  std::string kind;  ///< kill, throw, stall or stop
  int ranks = 4, train_step = 1;
  WorldRank rank = WorldRank::of(0);
  Layer layer = Layer::of(0);
  RingStep ring_step = RingStep::of(0);
  Direction direction = Direction::kForward;
  std::string strategy = "ring";

  traces::Place place() const { return {train_step, layer, direction, ring_step}; }
  std::string text() const {
    return kind + " rank " + toString(rank) + " of " + std::to_string(ranks) + " at " +
           traces::describe(place()) + ", " + strategy;
  }
};

int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : -1;
}

/// Writes down the time of the fault, to measure how long it took until it was reported.
void noteTheTime() {
  std::ofstream(std::string(std::getenv("RINGSCOPE_TEST_FOLDER")) + "/fault")
      << traces::steadyNow();
}

void happen(const std::string& kind) {
  noteTheTime();
  if (kind == "kill") ::raise(SIGKILL);
  if (kind == "stop") ::raise(SIGSTOP);
  if (kind == "throw") throw std::runtime_error("the cable was pulled");
  while (kind == "stall") std::this_thread::sleep_for(std::chrono::seconds(1));
  // A block that takes much longer than the deadline while the core is busy.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(4);
  while (kind == "compute" && std::chrono::steady_clock::now() < until) {
  }
}

/// Runs in the processes that the tests start: trains, and one rank has its fault.
TEST(RankProcess, TrainsUntilItsFault) {
  const char* kind = std::getenv("RINGSCOPE_TEST_FAULT");
  if (!kind) GTEST_SKIP() << "runs in the processes that SupervisionFaultTest starts";
  TrainConfig config;
  config.text = {test::sampleText()};
  config.cp = number("WORLD_SIZE");
  config.steps = 3;
  config.seq_len = 64;
  config.transport = traces::TransportKind::kGloo;
  config.launch = traces::Launch::kEnv;
  config.strategy = traces::parse<traces::Strategy>(std::getenv("RINGSCOPE_TEST_STRATEGY"));
  const traces::Place place{number("RINGSCOPE_TEST_STEP"),
                            Layer::of(number("RINGSCOPE_TEST_LAYER")),
                            static_cast<Direction>(number("RINGSCOPE_TEST_DIRECTION")),
                            RingStep::of(number("RINGSCOPE_TEST_RING_STEP"))};
  const WorldRank faulty = WorldRank::of(number("RINGSCOPE_TEST_RANK"));
  const TrainHooks hooks{{}, [&](WorldRank rank, const traces::Place& at) {
                           if (rank == faulty && at == place) happen(kind);
                         }};
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<traces::SqliteSink>(
      std::string(std::getenv("RINGSCOPE_TEST_FOLDER")) + "/trace." + std::getenv("RANK")));
  traces::RecorderOptions options;
  options.commit_interval = std::chrono::milliseconds(20);
  traces::Recorder recorder(config.cp, std::move(sinks), options);
  Gate gate(1);
  try {
    runTraining(config, gate, &recorder, hooks);
  } catch (const Error& error) {
    recorder.close();
    std::fprintf(stderr, "ringscope: %s\n", error.what());
    std::_Exit(3);
  }
}

std::vector<pid_t> childrenOfThisProcess() {
  std::ifstream in("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  std::vector<pid_t> children;
  for (pid_t pid = 0; in >> pid;) children.push_back(pid);
  return children;
}

struct Outcome {
  std::string sentence;    ///< empty: no error
  double after_fault = 0;  ///< seconds
};

Outcome supervised(const Fault& fault, const std::string& folder,
                   std::chrono::milliseconds deadline = std::chrono::seconds(60)) {
  RankLaunch launch;
  launch.ranks = fault.ranks;
  launch.arguments = {"rank", "--gtest_filter=RankProcess.TrainsUntilItsFault", "--gtest_brief=1"};
  launch.deadline = deadline;
  launch.in_child = [&](WorldRank) {
    auto set = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
    set("RINGSCOPE_TEST_FAULT", fault.kind);
    set("RINGSCOPE_TEST_FOLDER", folder);
    set("RINGSCOPE_TEST_STRATEGY", fault.strategy);
    set("RINGSCOPE_TEST_RANK", toString(fault.rank));
    set("RINGSCOPE_TEST_STEP", std::to_string(fault.train_step));
    set("RINGSCOPE_TEST_LAYER", toString(fault.layer));
    set("RINGSCOPE_TEST_DIRECTION", std::to_string(static_cast<int>(fault.direction)));
    set("RINGSCOPE_TEST_RING_STEP", toString(fault.ring_step));
  };
  Outcome outcome;
  try {
    superviseRanks(launch);
  } catch (const Error& error) {
    outcome.sentence = error.what();
  }
  std::int64_t fault_ns = traces::steadyNow();
  std::ifstream(folder + "/fault") >> fault_ns;
  outcome.after_fault = static_cast<double>(traces::steadyNow() - fault_ns) * 1e-9;
  return outcome;
}

void expectNamedAndClean(const Fault& fault, const std::string& folder, const Outcome& outcome) {
  EXPECT_NE(outcome.sentence.find("rank " + toString(fault.rank)), std::string::npos)
      << fault.text() << ": " << outcome.sentence;
  EXPECT_NE(outcome.sentence.find(traces::describe(fault.place())), std::string::npos)
      << fault.text() << ": " << outcome.sentence;
  EXPECT_TRUE(childrenOfThisProcess().empty()) << fault.text();
  for (int rank = 0; rank < fault.ranks; ++rank) {
    const std::string path = folder + "/trace." + std::to_string(rank);
    EXPECT_NO_THROW(EXPECT_GT(traces::openTrace(path)->eventCount(), 0u)) << path;
  }
}

Fault randomFault(std::mt19937& random) {
  Fault fault;
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  fault.kind = "kill";
  fault.ranks = std::vector<int>{2, 4, 8}[random() % 3];
  fault.rank = WorldRank::of(below(fault.ranks));
  fault.layer = Layer::of(below(2));
  fault.direction = static_cast<Direction>(below(2));
  fault.strategy = std::vector<std::string>{"ring", "all_gather", "hybrid"}[random() % 3];
  const int rings = fault.strategy == "hybrid" ? fault.ranks / 2 : fault.ranks;
  fault.ring_step = RingStep::of(fault.strategy == "all_gather" ? 0 : below(std::max(1, rings)));
  return fault;
}

TEST(SupervisionFaultTest, AKilledRankIsNamedWithItsPlaceAndNothingIsLeftBehind) {
  for (test::Campaign campaign(6, 7); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    test::TempDir dir;
    const Fault fault = randomFault(campaign.random());
    const Outcome outcome = supervised(fault, dir.file(""));
    campaign.largest("seconds_until_named", outcome.after_fault);
    EXPECT_NE(outcome.sentence.find("Killed"), std::string::npos) << outcome.sentence;
    EXPECT_LT(outcome.after_fault, 1.0) << fault.text();
    expectNamedAndClean(fault, dir.file(""), outcome);
  }
}

TEST(SupervisionFaultTest, ARankThatThrowsIsQuoted) {
  test::TempDir dir;
  Fault fault{"throw"};
  fault.rank = WorldRank::of(2);
  fault.ring_step = RingStep::of(1);
  const Outcome outcome = supervised(fault, dir.file(""));
  EXPECT_NE(outcome.sentence.find("the cable was pulled"), std::string::npos) << outcome.sentence;
  expectNamedAndClean(fault, dir.file(""), outcome);
}

TEST(SupervisionFaultTest, AStuckRankIsNamedWithinItsDeadlineAndTwoSeconds) {
  for (const char* kind : {"stall", "stop"}) {
    test::TempDir dir;
    Fault fault{kind};
    fault.rank = WorldRank::of(1);
    fault.direction = Direction::kBackward;
    const Outcome outcome = supervised(fault, dir.file(""), std::chrono::seconds(3));
    EXPECT_NE(outcome.sentence.find("is stuck"), std::string::npos) << outcome.sentence;
    EXPECT_NE(outcome.sentence.find("rank 1"), std::string::npos) << outcome.sentence;
    EXPECT_NE(outcome.sentence.find("waits for"), std::string::npos) << outcome.sentence;
    EXPECT_LT(outcome.after_fault, 3 + 2);
    expectNamedAndClean(fault, dir.file(""), outcome);
  }
}

TEST(SupervisionTest, ALongBlockIsNotStuck) {
  test::TempDir dir;
  Fault fault{"compute"};
  fault.rank = WorldRank::of(1);
  EXPECT_EQ(supervised(fault, dir.file(""), std::chrono::seconds(2)).sentence, "");
}

}  // namespace
}  // namespace ringscope::engine
