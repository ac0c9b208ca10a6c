// SPDX-License-Identifier: Apache-2.0
#include "engine/control/rank_hub.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "engine/control/rank_link.h"
#include "engine/gate/gate.h"
#include "tests/support/expect_error.h"

namespace ringscope::engine {
namespace {

/// A hub of one rank whose end of the connection the test holds.
class RankHubFaultTest : public testing::Test {
 protected:
  void SetUp() override {
    hub_.prepareChild(traces::WorldRank::of(0));
    hub_.childrenStarted();
    rank_end_ = std::atoi(std::getenv(RankLink::kVariable));
  }
  void TearDown() override {
    if (rank_.joinable()) rank_.join();
    ::unsetenv(RankLink::kVariable);
    ::unsetenv(RankLink::kClockVariable);
  }
  /// Lets the rank's process exit after a request, without an answer.
  void endWhenAsked() {
    rank_ = std::thread([this] {
      char byte;
      EXPECT_GT(::read(rank_end_, &byte, 1), 0);
      ::close(rank_end_);
    });
  }

  Gate gate_{1};
  RankHub hub_{gate_, 1, {}, [](const auto&) {}};
  int rank_end_ = -1;
  std::thread rank_;
};

TEST_F(RankHubFaultTest, ARankThatDiesBetweenAStopAndItsFlushDoesNotEndTheFlush) {
  endWhenAsked();
  EXPECT_NO_THROW(hub_.flush());
  EXPECT_NO_THROW(hub_.flush()) << "and it is not asked again";
}

TEST_F(RankHubFaultTest, AReadFromARankThatDiesMeanwhileSaysWhichOne) {
  endWhenAsked();
  EXPECT_ERROR(hub_.read({traces::WorldRank::of(0), "q", traces::Layer::of(0), {}, {}, {}}),
               ErrorCode::kRunFailed, "rank 0 does not answer");
}

TEST_F(RankHubFaultTest, ARankThatSendsWhatIsNoFrameIsLeftOutAndNamed) {
  const std::string nonsense(64, '\xff');
  ASSERT_EQ(::write(rank_end_, nonsense.data(), nonsense.size()),
            static_cast<ssize_t>(nonsense.size()));
  hub_.close();
  const auto failures = hub_.stats().failed_sinks;
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_NE(failures.front().find("rank 0 sent what cannot be read"), std::string::npos)
      << failures.front();
  ::close(rank_end_);
}

TEST_F(RankHubFaultTest, ARankWhoseAnswerIsWronglyTypedIsLeftOutAndNamed) {
  const auto frame = traces::encodeJsonFrame("{\"reply\": \"flush\", \"ok\": \"yes\", \"id\": 1}");
  ASSERT_EQ(::write(rank_end_, frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
  hub_.close();
  const auto failures = hub_.stats().failed_sinks;
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_NE(failures.front().find("\"ok\""), std::string::npos) << failures.front();
  ::close(rank_end_);
}

}  // namespace
}  // namespace ringscope::engine
