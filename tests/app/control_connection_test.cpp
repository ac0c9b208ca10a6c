// SPDX-License-Identifier: Apache-2.0
// The control connection as the window uses it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/debugger.h"
#include "tests/support/files.h"
#include "traces/analysis/diff/summary.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/storage/sealed.h"
#include "traces/format/trace/trace.h"

namespace ringscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Child;
using test::Debugger;

/// A test for ranks that are threads and for ranks that are processes.
class ControlConnectionTest : public testing::TestWithParam<const char*> {
 protected:
  static std::vector<std::string> controlledRun(const std::string& trace) {
    return test::controlledRun(trace, GetParam());
  }
};

TEST_P(ControlConnectionTest, PauseStepContinueAndStopKeepTheWatermarkRule) {
  test::TempDir dir;
  auto arguments = controlledRun(dir.file("a.rscope"));
  Child child(arguments);
  Debugger debugger(child);
  EXPECT_EQ(debugger.await("hello")["hello"]["control"], 0);
  EXPECT_EQ(debugger.ask({{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "stop"}})["ok"],
            true);
  EXPECT_EQ(debugger.ask({{"cmd", "step"}, {"unit", "stage"}})["ok"], false) << "not paused yet";
  EXPECT_EQ(debugger.ask({{"cmd", "dance"}})["ok"], false);

  const json stop = debugger.ask({{"cmd", "pause"}, {"id", 7}});
  EXPECT_EQ(stop["id"], 7);
  EXPECT_FALSE(stop["run_id"].get<std::string>().empty());
  EXPECT_GT(stop["run_clock_ns"].get<std::int64_t>(), 0);
  EXPECT_EQ(debugger.last_seq, stop["chunk_watermark"].get<std::uint64_t>())
      << "all chunks before the answer have come";
  EXPECT_EQ(debugger.ask({{"cmd", "state"}})["state"]["paused"], true);

  json place = stop["place"];
  for (int i = 0; i < 6; ++i) {
    const json next = debugger.ask({{"cmd", "step"}, {"unit", "stage"}});
    EXPECT_NE(next["place"], place);
    place = next["place"];
  }
  const json layer = debugger.ask({{"cmd", "step"}, {"unit", "layer"}})["place"];
  EXPECT_TRUE(layer["layer"] != place["layer"] || layer["direction"] != place["direction"]);
  const json step = debugger.ask({{"cmd", "step"}, {"unit", "train_step"}})["place"];
  EXPECT_EQ(step["train_step"].get<int>(), layer["train_step"].get<int>() + 1);

  const json again = debugger.ask({{"cmd", "resend"}, {"first", 1}, {"last", 3}});
  EXPECT_EQ(again["sent"], 3);
  EXPECT_EQ(debugger.ask({{"cmd", "continue"}})["ok"], true);
  EXPECT_EQ(debugger.ask({{"cmd", "stop"}})["ok"], true);
  EXPECT_EQ(debugger.await("end")["end"]["stopped"], true);
  EXPECT_EQ(child.wait(), 0);
  EXPECT_TRUE(traces::openTrace(dir.file("a.rscope"))->problems().empty());
}

TEST_P(ControlConnectionTest, ClosingTheInputEndsTheRunWhenHelloSaidSo) {
  test::TempDir dir;
  auto arguments = controlledRun(dir.file("a.rscope"));
  Child child(arguments);
  Debugger debugger(child);
  debugger.ask({{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "stop"}});
  debugger.closeInput();
  EXPECT_EQ(debugger.await("end")["end"]["stopped"], true);
  EXPECT_EQ(child.wait(), 0);
}

TEST_P(ControlConnectionTest, MalformedInputIsAnsweredAndNeverEndsTheRun) {
  test::TempDir dir;
  auto arguments = controlledRun(dir.file("a.rscope"));
  Child child(arguments);
  Debugger debugger(child);
  debugger.await("hello");
  debugger.send({{"no", "cmd"}});
  EXPECT_TRUE(debugger.await("error").contains("error"));
  const std::string rubbish(64, '\xff');
  EXPECT_EQ(write(child.input, rubbish.data(), rubbish.size()), 64);
  EXPECT_NE(debugger.await("error")["error"].get<std::string>().find("impossible length"),
            std::string::npos);
  child.signal(SIGINT);
  EXPECT_EQ(debugger.await("end")["end"]["ok"], true);
}

TEST_P(ControlConnectionTest, ABreakStopsTheRunAndItsTensorsCanBeRead) {
  test::TempDir dir;
  auto arguments = controlledRun(dir.file("a.rscope"));
  Child child(arguments);
  Debugger debugger(child);
  debugger.ask({{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "stop"}});
  EXPECT_EQ(debugger.ask({{"cmd", "read"}, {"tensor", "q"}, {"layer", 1}})["ok"], false)
      << "a run that moves is not read";
  EXPECT_EQ(debugger.ask({{"cmd", "break"}, {"at", {{"hour", 3}}}})["ok"], false);
  EXPECT_EQ(debugger.ask({{"cmd", "break"},
                          {"at", {{"layer", 1}, {"direction", "backward"}, {"stage", 2}}}})["ok"],
            true);
  for (int round = 0; round < 3; ++round) {
    const json stopped = debugger.await("stopped");
    EXPECT_EQ(stopped["stopped"], "break");
    EXPECT_EQ(stopped["place"]["layer"], 1);
    EXPECT_EQ(stopped["place"]["direction"], "backward");
    EXPECT_EQ(stopped["place"]["stage"], 2);
    EXPECT_EQ(debugger.last_seq, stopped["chunk_watermark"].get<std::uint64_t>());
    if (round < 2) debugger.ask({{"cmd", "continue"}});
  }
  EXPECT_GT(debugger.ask({{"cmd", "tensors"}})["tensors"].size(), 20u);
  const json read = debugger.ask({{"cmd", "read"},
                                  {"rank", 2},
                                  {"tensor", "weight.model.norm.weight"},
                                  {"layer", -1},
                                  {"begin", {3}},
                                  {"end", {7}}});
  ASSERT_EQ(read["ok"], true) << read;
  EXPECT_EQ(read["values"].size(), 4u);
  for (const auto& value : read["values"]) EXPECT_NEAR(value.get<double>(), 1, 0.2);
  EXPECT_EQ(debugger.ask({{"cmd", "read"}, {"tensor", "nothing"}})["ok"], false);
  debugger.ask({{"cmd", "stop"}});
  EXPECT_EQ(child.wait(), 0);
}

TEST_P(ControlConnectionTest, ABreakOnDivergenceStopsTheRunThatDiverges) {
  test::TempDir dir;
  auto arguments = controlledRun(dir.file("a.rscope"));
  arguments.insert(arguments.end(), {"--verify", "--mistake", "naive_sum_merge"});
  Child child(arguments);
  Debugger debugger(child);
  debugger.ask({{"cmd", "break"}, {"on", "divergence"}});
  EXPECT_EQ(debugger.await("stopped")["stopped"], "break");
  EXPECT_FALSE(traces::divergences(debugger.trace).empty());
}

TEST_P(ControlConnectionTest, AMistakeIsInjectedAndLiftedBetweenStepsAndSealed) {
  test::TempDir dir;
  auto arguments = controlledRun(dir.file("a.rscope"));
  arguments.insert(arguments.end(), {"--verify"});
  Child child(arguments);
  Debugger debugger(child);
  debugger.ask({{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "stop"}});
  EXPECT_EQ(debugger.ask({{"cmd", "inject"}, {"mistake", "nonsense"}})["ok"], false);
  const json unseen = debugger.ask({{"cmd", "inject"}, {"mistake", "recompute_differs"}});
  EXPECT_EQ(unseen["ok"], false);
  EXPECT_NE(unseen.dump().find("changes nothing where activations are kept for backward; use "
                               "--recompute"),
            std::string::npos)
      << unseen;
  EXPECT_EQ(debugger.ask({{"cmd", "lift"}, {"mistake", "naive_sum_merge"}})["ok"], false);
  debugger.ask({{"cmd", "break"}, {"on", "divergence"}, {"ratio", 10}});
  const json injected = debugger.ask({{"cmd", "inject"}, {"mistake", "naive_sum_merge"}});
  ASSERT_EQ(injected["ok"], true) << injected;
  EXPECT_EQ(debugger.ask({{"cmd", "inject"}, {"mistake", "naive_sum_merge"}})["ok"], false);
  EXPECT_EQ(debugger.await("stopped")["stopped"], "break");
  const int wrong_from = injected["from_train_step"];
  const json lifted = debugger.ask({{"cmd", "lift"}, {"mistake", "naive_sum_merge"}});
  const int right_from = lifted["from_train_step"];
  EXPECT_GT(right_from, wrong_from);
  debugger.ask({{"cmd", "break"}, {"at", {{"train_step", right_from + 2}}}});
  debugger.ask({{"cmd", "continue"}});
  ASSERT_EQ(debugger.await("stopped")["stopped"], "break");
  debugger.ask({{"cmd", "stop"}});
  EXPECT_EQ(child.wait(), 0);
  const auto trace = traces::openTrace(dir.file("a.rscope"));
  for (const auto* diff : traces::divergences(*trace)) {
    EXPECT_GE(diff->place.train_step, wrong_from);
    EXPECT_LT(diff->place.train_step, right_from);
  }
  EXPECT_FALSE(traces::divergences(*trace).empty());
  std::string sealed;
  for (const std::string& text : traces::readSealed(dir.file("a.rscope"))) sealed += text;
  EXPECT_NE(sealed.find("\"inject\""), std::string::npos) << sealed;
  EXPECT_NE(sealed.find("\"lift\""), std::string::npos) << sealed;
}

TEST_P(ControlConnectionTest, CaptureChangesAndABreakOnWhatIsNotFiniteStopsTheRun) {
  test::TempDir dir;
  auto arguments = controlledRun(dir.file("a.rscope"));
  arguments.insert(arguments.end(), {"--lr", "1e30", "--capture", "none"});
  Child child(arguments);
  Debugger debugger(child);
  debugger.ask({{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "stop"}});
  EXPECT_EQ(debugger.ask({{"cmd", "capture"}, {"policy", "everything"}})["ok"], false);
  EXPECT_EQ(debugger.ask({{"cmd", "break"}, {"on", "sunshine"}})["ok"], false);
  EXPECT_EQ(debugger.ask({{"cmd", "break"}, {"on", "non_finite"}})["ok"], true);
  EXPECT_EQ(debugger.ask({{"cmd", "capture"}, {"policy", "stats"}})["ok"], true);
  EXPECT_EQ(debugger.await("stopped")["stopped"], "break");
  debugger.ask({{"cmd", "stop"}});
  EXPECT_EQ(child.wait(), 0);
}

/// A supervised run of rank processes, one of which fails.
class RankFaultTest : public testing::Test {
 protected:
  RankFaultTest() {
    debugger_.ask({{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "stop"}});
    debugger_.ask({{"cmd", "break"}, {"at", {{"train_step", 1}, {"stage", 1}}}});
    EXPECT_EQ(debugger_.await("stopped")["stopped"], "break");
    debugger_.ask({{"cmd", "break"}});
  }

  test::TempDir dir_;
  Child child_{test::controlledRun(dir_.file("a.rscope"), "processes")};
  Debugger debugger_{child_};
};

TEST_F(RankFaultTest, AFailedPauseNamesTheRankAndItsPlace) {
  const pid_t stopped = child_.children().at(2);
  ::kill(stopped, SIGSTOP);
  debugger_.ask({{"cmd", "continue"}});
  debugger_.send({{"cmd", "pause"}, {"id", 5}});
  const json late = debugger_.await("waiting");
  EXPECT_EQ(late["waiting"], "pause");
  EXPECT_EQ(late["id"], 5);
  bool named = false;
  for (const json& rank : late["for"])
    named = named || (rank["rank"] == 2 && rank["place"]["train_step"] == 1);
  EXPECT_TRUE(named) << late;
  ::kill(stopped, SIGCONT);
  EXPECT_EQ(debugger_.await("reply")["id"], 5) << "the pause is granted when the rank comes";
}

TEST_F(RankFaultTest, AKilledRankEndsTheRunByNameAndLeavesACompleteTrace) {
  ::kill(child_.children().at(1), SIGKILL);
  const json end = debugger_.await("end")["end"];
  EXPECT_EQ(end["ok"], false);
  EXPECT_NE(end["reason"].get<std::string>().find("rank 1"), std::string::npos) << end;
  EXPECT_NE(end["reason"].get<std::string>().find("step 1"), std::string::npos) << end;
  EXPECT_EQ(child_.wait(), 3);
  const auto trace = traces::openTrace(dir_.file("a.rscope"));
  EXPECT_TRUE(trace->end().has_value());
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_GT(trace->events(traces::WorldRank::of(rank)).size(), 20u);
}

/// Returns the addresses on which these processes listen, in the kernel's spelling.
std::set<std::string> listeningAt(const std::vector<pid_t>& processes) {
  std::set<std::string> sockets, addresses;
  std::error_code gone;
  for (const pid_t pid : processes)
    for (const auto& fd : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
      const std::string to = fs::read_symlink(fd.path(), gone);
      if (to.starts_with("socket:[")) sockets.insert(to.substr(8, to.size() - 9));
    }
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream in(line);
      std::vector<std::string> fields;
      for (std::string field; in >> field;) fields.push_back(field);
      if (fields.size() > 9 && fields[3] == "0A" && sockets.contains(fields[9]))
        addresses.insert(fields[1].substr(0, fields[1].find(':')));
    }
  }
  return addresses;
}

TEST_F(RankFaultTest, RanksListenOnLoopbackOnlyAndAreNamedByTheirNumbers) {
  const std::vector<pid_t> ranks = child_.children();
  EXPECT_EQ(listeningAt(ranks), std::set<std::string>{"0100007F"}) << "127.0.0.1";
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::string name;
    std::ifstream("/proc/" + std::to_string(ranks[rank]) + "/comm") >> name;
    EXPECT_EQ(name, "ringscope-r" + std::to_string(rank));
  }
}

INSTANTIATE_TEST_SUITE_P(Launches, ControlConnectionTest, testing::Values("threads", "processes"),
                         [](const auto& launch) { return launch.param; });

}  // namespace
}  // namespace ringscope
