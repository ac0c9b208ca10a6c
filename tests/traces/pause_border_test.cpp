// SPDX-License-Identifier: Apache-2.0
// All ranks are held at one step border, whatever steps they are in.
#include "traces/exchange/live/pause_border.h"

#include <gtest/gtest.h>

#include "tests/support/place_at.h"

namespace ringscope::traces {
namespace {

using test::rank;

PauseBorder jobOf(int ranks, bool takes_pauses = true) {
  PauseBorder border;
  border.begin(ranks);
  for (int r = 0; r < ranks; ++r) border.come(rank(r), takes_pauses);
  return border;
}

/// Returns what is sent to this rank.
std::vector<std::string> sentTo(PauseBorder& border, int number) {
  std::vector<std::string> lines;
  for (auto& [to, line] : border.takeMessages())
    if (to == rank(number)) lines.push_back(line);
  return lines;
}

TEST(PauseBorder, TheLatestStepThatARankIsInIsWhereAllStop) {
  PauseBorder border = jobOf(3);
  border.pause();
  EXPECT_EQ(border.state(), PauseState::kAsked);
  EXPECT_EQ(sentTo(border, 2), std::vector<std::string>{R"({"line":"hold"})"});
  border.held(rank(0), 6);
  border.held(rank(1), 5);
  EXPECT_TRUE(border.takeMessages().empty()) << "nobody stops before all have answered";
  border.held(rank(2), 6);
  EXPECT_EQ(border.border(), 6);
  EXPECT_EQ(sentTo(border, 1), std::vector<std::string>{R"({"line":"pause","step":6})"});
  border.paused(rank(0), 6);
  border.paused(rank(2), 6);
  EXPECT_EQ(border.state(), PauseState::kPausing);
  border.paused(rank(1), 6);
  EXPECT_EQ(border.state(), PauseState::kPaused);
}

TEST(PauseBorder, AStepGoesToTheNextBorderAndGoEndsThePause) {
  PauseBorder border = jobOf(1);
  border.pause();
  border.held(rank(0), 0);
  border.paused(rank(0), 0);
  border.takeMessages();
  border.step();
  EXPECT_EQ(sentTo(border, 0), std::vector<std::string>{R"({"line":"pause","step":1})"});
  border.paused(rank(0), 0);  // sent before the rank received the step
  EXPECT_EQ(border.state(), PauseState::kPausing);
  border.paused(rank(0), 1);
  EXPECT_EQ(border.state(), PauseState::kPaused);
  border.go();
  EXPECT_EQ(sentTo(border, 0), std::vector<std::string>{R"({"line":"go"})"});
  EXPECT_EQ(border.state(), PauseState::kGoing);
}

TEST(PauseBorder, IsRefusedWithTheReason) {
  EXPECT_EQ(PauseBorder().refusal(), "no job is connected");
  PauseBorder partly;
  partly.begin(4);
  partly.come(rank(0), true);
  EXPECT_NE(partly.refusal().find("only 1 of 4 ranks"), std::string::npos) << partly.refusal();
  PauseBorder unwilling = jobOf(2, false);
  EXPECT_NE(unwilling.refusal().find("rank 0"), std::string::npos) << unwilling.refusal();
  unwilling.pause();
  EXPECT_EQ(unwilling.state(), PauseState::kGoing);
  EXPECT_TRUE(unwilling.takeMessages().empty());
}

TEST(PauseBorder, ARankThatLeavesDelaysNoOther) {
  PauseBorder border = jobOf(3);
  border.pause();
  border.held(rank(0), 2);
  border.held(rank(1), 1);
  border.leave(rank(2));
  EXPECT_EQ(border.border(), 2);
  border.paused(rank(0), 2);
  border.leave(rank(1));
  EXPECT_EQ(border.state(), PauseState::kPaused);
  border.leave(rank(0));
  EXPECT_EQ(border.state(), PauseState::kGoing);
}

TEST(PauseBorder, ARankThatComesBackIsTakenIntoThePause) {
  PauseBorder border = jobOf(2);
  border.pause();
  border.held(rank(0), 4);
  border.held(rank(1), 4);
  border.leave(rank(1));
  border.takeMessages();
  border.come(rank(1), true);
  EXPECT_EQ(sentTo(border, 1), std::vector<std::string>{R"({"line":"pause","step":4})"});
}

TEST(PauseBorder, UnsolicitedMessagesOfRanksChangeNothing) {
  PauseBorder border = jobOf(2);
  border.held(rank(0), 9);
  border.paused(rank(1), 9);
  border.held(rank(7), 9);
  border.step();
  EXPECT_EQ(border.state(), PauseState::kGoing);
  EXPECT_TRUE(border.takeMessages().empty());
}

}  // namespace
}  // namespace ringscope::traces
