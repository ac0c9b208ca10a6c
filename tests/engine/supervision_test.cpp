// SPDX-License-Identifier: Apache-2.0
// Rank processes that are killed, fail or hang at every ring step: each is named, with its place,
// within a second; what was recorded opens; nothing is left behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "engine/launch/progress_board.h"
#include "engine/launch/rank_supervisor.h"
#include "engine/launch/stall_watch.h"
#include "engine/train/training_run.h"
#include "tests/support/files.h"
#include "traces/core/clock.h"
#include "traces/core/error.h"
#include "traces/query/trace.h"
#include "traces/storage/sqlite_sink.h"

namespace ringscope::engine {
namespace {

using traces::Direction;

/// What goes wrong, where.
struct Fault {
  std::string kind;  ///< kill, throw, stall or stop
  int ranks = 4, rank = 0, train_step = 1, layer = 0, ring_step = 0;
  Direction direction = Direction::kForward;
  std::string strategy = "ring";

  traces::Place place() const {
    return {train_step, static_cast<std::int16_t>(layer), direction,
            static_cast<std::int16_t>(ring_step)};
  }
  std::string text() const {
    return kind + " rank " + std::to_string(rank) + " of " + std::to_string(ranks) + " at " +
           traces::describe(place()) + ", " + strategy;
  }
};

int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : -1;
}

/// When the fault happened, for whoever measures how long it took to be named.
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
  // A long block: much longer than the deadline, but the core is busy.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(4);
  while (kind == "compute" && std::chrono::steady_clock::now() < until) {
  }
}

/// Runs in the processes that the tests start: trains, and one rank has its fault.
TEST(RankProcess, TrainsUntilItsFault) {
  const char* kind = std::getenv("RINGSCOPE_TEST_FAULT");
  if (!kind) GTEST_SKIP() << "runs in the processes that SupervisionFaultTest starts";
  TrainConfig config;
  config.text_files = {test::sampleText()};
  config.cp = number("WORLD_SIZE");
  config.steps = 3;
  config.seq_len = 64;
  config.transport = "gloo";
  config.from_environment = true;
  config.attention.strategy = std::getenv("RINGSCOPE_TEST_STRATEGY");
  const traces::Place place{number("RINGSCOPE_TEST_STEP"),
                            static_cast<std::int16_t>(number("RINGSCOPE_TEST_LAYER")),
                            static_cast<Direction>(number("RINGSCOPE_TEST_DIRECTION")),
                            static_cast<std::int16_t>(number("RINGSCOPE_TEST_RING_STEP"))};
  const TrainHooks hooks{{}, [&](int rank, const traces::Place& at) {
                           if (rank == number("RINGSCOPE_TEST_RANK") && at == place) happen(kind);
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
  std::string sentence;    ///< empty: all went well
  double after_fault = 0;  ///< seconds
};

Outcome supervised(const Fault& fault, const std::string& folder,
                   std::chrono::milliseconds deadline = std::chrono::seconds(60)) {
  RankLaunch launch;
  launch.ranks = fault.ranks;
  launch.arguments = {"rank", "--gtest_filter=RankProcess.TrainsUntilItsFault", "--gtest_brief=1"};
  launch.deadline = deadline;
  launch.in_child = [&](int) {
    auto set = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
    set("RINGSCOPE_TEST_FAULT", fault.kind);
    set("RINGSCOPE_TEST_FOLDER", folder);
    set("RINGSCOPE_TEST_STRATEGY", fault.strategy);
    set("RINGSCOPE_TEST_RANK", std::to_string(fault.rank));
    set("RINGSCOPE_TEST_STEP", std::to_string(fault.train_step));
    set("RINGSCOPE_TEST_LAYER", std::to_string(fault.layer));
    set("RINGSCOPE_TEST_DIRECTION", std::to_string(static_cast<int>(fault.direction)));
    set("RINGSCOPE_TEST_RING_STEP", std::to_string(fault.ring_step));
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
  EXPECT_NE(outcome.sentence.find("rank " + std::to_string(fault.rank)), std::string::npos)
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
  fault.rank = below(fault.ranks);
  fault.layer = below(2);
  fault.direction = static_cast<Direction>(below(2));
  fault.strategy = std::vector<std::string>{"ring", "all_gather", "hybrid"}[random() % 3];
  const int rings = fault.strategy == "hybrid" ? fault.ranks / 2 : fault.ranks;
  fault.ring_step = fault.strategy == "all_gather" ? 0 : below(std::max(1, rings));
  return fault;
}

/// RINGSCOPE_KILLS chooses how many; the seed is printed.
TEST(SupervisionFaultTest, AKilledRankIsNamedWithItsPlaceAndNothingIsLeftBehind) {
  const int kills = std::max(6, number("RINGSCOPE_KILLS"));
  const unsigned seed =
      number("RINGSCOPE_KILL_SEED") >= 0 ? static_cast<unsigned>(number("RINGSCOPE_KILL_SEED")) : 7;
  std::printf("seed %u, %d kills\n", seed, kills);
  std::mt19937 random(seed);
  for (int i = 0; i < kills && !HasFailure(); ++i) {
    test::TempDir dir;
    const Fault fault = randomFault(random);
    const Outcome outcome = supervised(fault, dir.file(""));
    EXPECT_NE(outcome.sentence.find("Killed"), std::string::npos) << outcome.sentence;
    EXPECT_LT(outcome.after_fault, 1.0) << fault.text();
    expectNamedAndClean(fault, dir.file(""), outcome);
  }
}

TEST(SupervisionFaultTest, ARankThatThrowsIsQuoted) {
  test::TempDir dir;
  Fault fault{"throw"};
  fault.rank = 2;
  fault.ring_step = 1;
  const Outcome outcome = supervised(fault, dir.file(""));
  EXPECT_NE(outcome.sentence.find("the cable was pulled"), std::string::npos) << outcome.sentence;
  expectNamedAndClean(fault, dir.file(""), outcome);
}

TEST(SupervisionFaultTest, AStuckRankIsNamedWithinItsDeadlineAndTwoSeconds) {
  for (const char* kind : {"stall", "stop"}) {
    test::TempDir dir;
    Fault fault{kind};
    fault.rank = 1;
    fault.direction = Direction::kBackward;
    const Outcome outcome = supervised(fault, dir.file(""), std::chrono::seconds(3));
    EXPECT_NE(outcome.sentence.find("is stuck"), std::string::npos) << outcome.sentence;
    EXPECT_NE(outcome.sentence.find("rank 1"), std::string::npos) << outcome.sentence;
    EXPECT_NE(outcome.sentence.find("waits for"), std::string::npos) << outcome.sentence;
    EXPECT_LT(outcome.after_fault, 3 + 2);
    expectNamedAndClean(fault, dir.file(""), outcome);
  }
}

/// Whether a rank that uses this much CPU time in each 20 ms, and does nothing else, is stuck after
/// at most a second with a deadline of 400 ms.
bool isStuckWith(std::int64_t cpu_ns) {
  const ProgressBoard board(1);
  StallWatch watch(board, 1, std::chrono::milliseconds(400), [](int) { return "rank 0"; });
  ProgressSlot& slot = board.slot(0);
  slot.waiting_for = kWaitsForNobody;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < until) {
    slot.beat_ns = traces::steadyNow();
    slot.cpu_ns += cpu_ns;
    if (!watch.stuck().empty()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

TEST(StallWatchTest, ARankThatOnlyLooksNowAndThenIsStuckAndOneThatSharesItsCoreIsNot) {
  EXPECT_TRUE(isStuckWith(0));
  EXPECT_TRUE(isStuckWith(100'000)) << "a two-hundredth of a core";
  EXPECT_FALSE(isStuckWith(2'000'000)) << "a tenth of a core";
}

TEST(SupervisionTest, ALongBlockIsNotStuck) {
  test::TempDir dir;
  Fault fault{"compute"};
  fault.rank = 1;
  EXPECT_EQ(supervised(fault, dir.file(""), std::chrono::seconds(2)).sentence, "");
}

}  // namespace
}  // namespace ringscope::engine
