// SPDX-License-Identifier: Apache-2.0
// A run whose control connection is misused or ends at any point. It continues or stops as the
// connection requires, keeps its exit code and its trace, and never hangs. The content of frames is
// tested in tests/traces/hostile_control_test.cpp.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/debugger.h"
#include "tests/support/files.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/ending.h"

namespace ringscope {
namespace {

using nlohmann::json;
using test::Child;
using test::Debugger;
using traces::HowEnded;

constexpr auto kPatience = std::chrono::seconds(30);

std::vector<std::string> controlledRun(const std::string& trace, const char* launch, int steps) {
  auto arguments = test::controlledRun(trace, launch);
  arguments.insert(arguments.end(), {"--steps", std::to_string(steps)});
  arguments.erase(arguments.begin() + 3, arguments.begin() + 5);  // its own --steps
  return arguments;
}

void expectEnding(Child& child, const std::string& trace, HowEnded how) {
  EXPECT_EQ(child.waitAtMost(kPatience), 0);
  const auto recorded = traces::openTrace(trace);
  EXPECT_EQ(traces::findEnding(*recorded).how, how) << describe(traces::findEnding(*recorded));
  EXPECT_TRUE(recorded->problems().empty()) << recorded->problems().front();
}

struct Asked {
  json request;
  bool granted = false;
};

const std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

/// Requests that are possible at any time.
std::vector<Asked> requestsOfAnyTime() {
  const auto unsigned_largest = std::numeric_limits<std::uint64_t>::max();
  return {
      {{{"cmd", "dance"}}},
      {{{"cmd", ""}}},
      {{{"cmd", "flush"}}},
      {{{"cmd", "non_finite"}, {"on", true}}},
      {{{"cmd", "hello"}, {"control", 1}}},
      {{{"cmd", "hello"}, {"control", -1}}},
      {{{"cmd", "hello"}}},
      {{{"cmd", "hello"}, {"control", "0"}}},
      {{{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "explode"}}},
      {{{"cmd", "step"}, {"unit", "mile"}}},
      {{{"cmd", "step"}, {"unit", 3}}},
      {{{"cmd", "break"}, {"at", "layer 1"}}},
      {{{"cmd", "break"}, {"at", {{"hour", 3}}}}},
      {{{"cmd", "break"}, {"at", {{"layer", "one"}}}}},
      {{{"cmd", "break"}, {"at", {{"layer", kLargest}}}}},
      {{{"cmd", "break"}, {"at", {{"direction", "sideways"}}}}},
      {{{"cmd", "break"}, {"on", "sunshine"}}},
      {{{"cmd", "break"}, {"on", "divergence"}, {"ratio", 0}}},
      {{{"cmd", "break"}, {"on", "divergence"}, {"ratio", -1}}},
      {{{"cmd", "break"}, {"on", "divergence"}, {"ratio", "much"}}},
      {{{"cmd", "inject"}}},
      {{{"cmd", "inject"}, {"mistake", ""}}},
      {{{"cmd", "inject"}, {"mistake", "nonsense"}}},
      {{{"cmd", "inject"}, {"mistake", {"naive_sum_merge"}}}},
      {{{"cmd", "lift"}, {"mistake", "nonsense"}}},
      {{{"cmd", "lift"}, {"mistake", "naive_sum_merge"}}},
      {{{"cmd", "capture"}}},
      {{{"cmd", "capture"}, {"policy", ""}}},
      {{{"cmd", "capture"}, {"policy", "everything"}}},
      {{{"cmd", "capture"}, {"policy", "values:steps="}}},
      {{{"cmd", "capture"}, {"policy", 7}}},
      {{{"cmd", "read"}}},
      {{{"cmd", "read"}, {"tensor", 7}}},
      {{{"cmd", "read"}, {"tensor", "q"}, {"rank", kLargest}}},
      {{{"cmd", "read"}, {"tensor", "q"}, {"begin", {"a"}}}},
      {{{"cmd", "read"}, {"tensor", "q"}, {"lead", {{"a", 1}}}}},
      {{{"cmd", "resend"}}},
      {{{"cmd", "resend"}, {"first", -1}, {"last", 2}}},
      {{{"cmd", "resend"}, {"first", 1}, {"last", 2.5}}},
      {{{"cmd", "resend"}, {"first", 5}, {"last", 1}}, true},
      {{{"cmd", "resend"}, {"first", unsigned_largest}, {"last", unsigned_largest}}, true},
      {{{"cmd", "break"}, {"at", {{"layer", 1'000'000}}}}, true},
      {{{"cmd", "break"}, {"at", {{"train_step", -1}}}}, true},
      {{{"cmd", "break"}}, true},
      {{{"cmd", "capture"}, {"policy", "stats"}}, true},
      {{{"cmd", "state"}, {"tensor", "ignored"}}, true},
      {{{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "stop"}}, true},
  };
}

std::vector<Asked> requestsOfAMovingRun() {
  return {{{{"cmd", "step"}}},
          {{{"cmd", "step"}, {"unit", "layer"}}},
          {{{"cmd", "step"}, {"unit", "train_step"}}},
          {{{"cmd", "tensors"}}},
          {{{"cmd", "read"}, {"tensor", "q"}, {"layer", 0}}},
          {{{"cmd", "continue"}}, true}};
}

std::vector<Asked> requestsOfAPausedRun() {
  const json read = {{"cmd", "read"}, {"tensor", "weight.model.norm.weight"}};
  const auto with = [&](const json& more) {
    json request = read;
    request.update(more);
    return Asked{request, false};
  };
  return {with({{"rank", 99}}),
          with({{"rank", -5}}),
          with({{"rank", 2'147'483'647}}),
          with({{"layer", 77}}),
          with({{"layer", 0}}),
          with({{"tensor", ""}}),
          with({{"tensor", std::string(100'000, 'a')}}),
          with({{"lead", {1, 2, 3}}}),
          with({{"lead", {-1}}}),
          with({{"lead", {kLargest}}}),
          with({{"begin", {0, 0}}}),
          with({{"begin", {-1}}}),
          with({{"begin", {kLargest}}}),
          with({{"end", {0}}}),
          with({{"end", {kLargest}}}),
          with({{"end", {std::numeric_limits<std::int64_t>::min()}}}),
          with({{"begin", {3}}, {"end", {3}}}),
          {read, true},
          {{{"cmd", "tensors"}}, true},
          {{{"cmd", "pause"}}, true},
          {{{"cmd", "step"}}, true},
          {{{"cmd", "resend"}, {"first", 1}, {"last", kLargest}}, true}};
}

class HostileControlTest : public testing::TestWithParam<const char*> {
 protected:
  static void expectAnswers(Debugger& debugger, const std::vector<Asked>& all) {
    std::int64_t id = 100;
    for (const Asked& asked : all) {
      json request = asked.request;
      request["id"] = ++id;
      const json reply = debugger.ask(request);
      EXPECT_EQ(reply["id"], id) << request;
      EXPECT_EQ(reply["ok"], asked.granted) << request << " " << reply;
      if (asked.granted) continue;
      EXPECT_GT(reply["error"].get<std::string>().size(), 10u) << request;
    }
  }
  /// Sends `count` requests before reading the first answer, and expects all answers.
  static void expectAllAnswered(Debugger& debugger, const json& request, int count) {
    for (int i = 0; i < count; ++i) debugger.send(request);
    for (int i = 0; i < count; ++i) ASSERT_EQ(debugger.await("reply")["reply"], request["cmd"]);
  }
};

TEST_P(HostileControlTest, EveryWrongRequestIsRefusedByASentenceAndTheRunGoesOn) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  Child child(controlledRun(path, GetParam(), 100'000));
  Debugger debugger(child);
  expectAnswers(debugger, requestsOfAnyTime());
  expectAnswers(debugger, requestsOfAMovingRun());
  expectAllAnswered(debugger, {{"cmd", "state"}}, 300);
  expectAllAnswered(debugger, {{"cmd", "pause"}}, 20);
  const Asked step{{{"cmd", "step"}, {"unit", "train_step"}}, true};
  expectAnswers(debugger, {step, step});  // weights can then be read
  expectAnswers(debugger, requestsOfAnyTime());
  expectAnswers(debugger, requestsOfAPausedRun());
  expectAllAnswered(debugger, {{"cmd", "step"}}, 50);
  for (const char* body : {"", "{}", "[]", "null", "{\"cmd\": 7}", "{\"cmd\":", "\x01\xff"}) {
    const auto frame = traces::encodeJsonFrame(body);
    debugger.sendBytes({frame.begin(), frame.end()});
    EXPECT_TRUE(debugger.await("error").contains("error")) << body;
  }
  expectAnswers(debugger, {{{{"cmd", "continue"}}, true}, {{{"cmd", "stop"}}, true}});
  EXPECT_EQ(debugger.await("end")["end"]["stopped"], true);
  expectEnding(child, path, HowEnded::kStopped);
}

enum class End { kNone, kInput, kOutput };

/// An ending of a connection.
struct Ending {
  const char* name;
  bool paused = false;  ///< at a break that remains set
  std::string last;     ///< last bytes sent
  End closes = End::kNone;
  bool with_processes = false;  ///< also with rank processes
};

std::vector<Ending> endings() {
  const std::string rubbish(9, '\xff'), long_frame("\x01\0\x20\0J", 5);
  const std::string half("\x20\0\0\0J{\"cmd\":", 12);
  return {{"closed while it runs", false, "", End::kInput},
          {"closed while it stands", true, "", End::kInput, true},
          {"closed within a body", true, half, End::kInput},
          {"rubbish while it runs", false, rubbish},
          {"rubbish while it stands", true, rubbish, End::kNone, true},
          {"a frame that is too long", true, long_frame},
          {"nobody reads", true, "", End::kOutput, true},
          {"nobody reads, within a frame", false, half, End::kOutput}};
}

void expectTheRunEnds(const Ending& ending, const char* launch, bool stop) {
  SCOPED_TRACE(std::string(ending.name) + ", " + launch + (stop ? ", stop" : ", finish"));
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  Child child(controlledRun(path, launch, stop ? 100'000 : 8));
  Debugger debugger(child);
  debugger.send({{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", stop ? "stop" : "finish"}});
  // A run that has not stopped yet would stop there afterwards.
  debugger.send({{"cmd", "break"}, {"at", {{"train_step", ending.paused || stop ? 1 : 6}}}});
  if (ending.paused) {
    EXPECT_EQ(debugger.await("stopped")["stopped"], "break");
  }
  if (!ending.last.empty()) debugger.sendBytes(ending.last);
  if (ending.closes == End::kInput) debugger.closeInput();
  if (ending.closes == End::kOutput) debugger.closeOutput();
  if (ending.closes != End::kOutput) debugger.await("end");
  expectEnding(child, path, stop ? HowEnded::kStopped : HowEnded::kFinished);
}

TEST_P(HostileControlTest, ARunStopsOrFinishesWhereverTheConnectionEnds) {
  const bool processes = std::string(GetParam()) == "processes";
  for (const Ending& ending : endings()) {
    if (processes && !ending.with_processes) continue;
    expectTheRunEnds(ending, GetParam(), false);
    if (ending.paused) expectTheRunEnds(ending, GetParam(), true);
  }
}

TEST_P(HostileControlTest, APauseWithoutAReaderHoldsNothing) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  Child child(controlledRun(path, GetParam(), 8));
  Debugger debugger(child);
  debugger.send({{"cmd", "pause"}});
  debugger.closeInput();
  debugger.await("end");
  expectEnding(child, path, HowEnded::kFinished);
}

INSTANTIATE_TEST_SUITE_P(Launches, HostileControlTest, testing::Values("threads", "processes"),
                         [](const auto& launch) { return launch.param; });

}  // namespace
}  // namespace ringscope
