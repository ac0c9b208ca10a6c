// SPDX-License-Identifier: Apache-2.0
// A run that starts when the other side of the control connection tells it to.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/debugger.h"
#include "tests/support/files.h"

namespace ringscope {
namespace {

using nlohmann::json;

/// A test for ranks that are threads and for ranks that are processes.
class HeldRunTest : public testing::TestWithParam<const char*> {
 protected:
  test::TempDir dir_;
  test::Child child_{test::controlledRun(dir_.file("a.rscope"), GetParam(), "stdio-held")};
  test::Debugger debugger_{child_};
};

TEST_P(HeldRunTest, BreaksAtItsFirstGateHoweverLateItIsAsked) {
  debugger_.await("hello");
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(debugger_.ask({{"cmd", "break"}, {"at", {{"train_step", 0}}}})["ok"], true);
  EXPECT_EQ(debugger_.ask({{"cmd", "continue"}})["ok"], true);
  const json place = debugger_.await("stopped")["place"];
  EXPECT_EQ(place["train_step"], 0);
  EXPECT_EQ(place["layer"], -1) << "no layer has begun";
  debugger_.ask({{"cmd", "stop"}});
  EXPECT_EQ(child_.wait(), 0);
}

TEST_P(HeldRunTest, IsStoppedBeforeItHasStarted) {
  debugger_.await("hello");
  EXPECT_EQ(debugger_.ask({{"cmd", "stop"}})["ok"], true);
  EXPECT_EQ(debugger_.await("end")["end"]["stopped"], true);
  EXPECT_EQ(child_.wait(), 0);
}

TEST_P(HeldRunTest, EndsWhenNobodyIsLeftToStartIt) {
  debugger_.ask({{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "stop"}});
  debugger_.closeInput();
  EXPECT_EQ(debugger_.await("end")["end"]["stopped"], true);
  EXPECT_EQ(child_.wait(), 0);
}

TEST_P(HeldRunTest, EndsWithASignal) {
  debugger_.await("hello");
  child_.signal(SIGTERM);
  EXPECT_EQ(debugger_.await("end")["end"]["stopped"], true);
}

INSTANTIATE_TEST_SUITE_P(Launch, HeldRunTest, testing::Values("threads", "processes"),
                         [](const auto& launch) { return launch.param; });

}  // namespace
}  // namespace ringscope
