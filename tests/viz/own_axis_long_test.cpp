// SPDX-License-Identifier: GPL-3.0-or-later
// The own-device clock as the Timeline's axis, with a training step of many events.
#include "tests/viz/own_axis_fixture.h"

namespace ringscope::viz {
namespace {

using OwnAxisLongTest = OwnAxisTest;

/// Returns a step with so many events that its schedule is built on a thread.
std::string longStep() {
  std::string text = test::OwnClockCase::ring(1000);
  for (int i = 0; i < 5000; ++i)
    text += "merge rank=0 layer=1 stage=0 source=0 cpu=10 time=" + std::to_string(1000 + 2 * i) +
            "-" + std::to_string(1001 + 2 * i) + "\n";
  return text;
}

TEST_F(OwnAxisLongTest, ALongStepIsReplayedOnAThreadAndTheNewestLinkWins) {
  open(longStep());
  QTest::keyClick(&view, Qt::Key_O);
  EXPECT_FALSE(view.clock());
  EXPECT_TRUE(view.isMaking());
  EXPECT_TRUE(view.accessibleDescription().contains("is being read"));
  view.grab();
  for (const double latency : {1.0, 2.0, 3.0}) {
    traces::Hardware hardware = test::OwnClockCase::link();
    hardware.link.latency_us = latency;
    replayOn(hardware);
  }
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return view.clock() && view.clock()->hardware.link.latency_us == 3; }, 10000));
  EXPECT_EQ(view.scene().tracks, view.clock()->tracks);
  // Three hops of 2,000 + 3,000 and four blocks, then the merges.
  EXPECT_EQ(view.clock()->timeline.endNs(), 3 * 5000 + 1000 + 50'000);
}

TEST_F(OwnAxisLongTest, AsRecordedTheScheduleOfALongStepIsReadOnAThreadToo) {
  open(longStep());
  QTest::keyClick(&view, Qt::Key_C);
  EXPECT_TRUE(view.account().sections.empty()) << "nothing is known of its path yet";
  EXPECT_TRUE(view.isMaking());
  ASSERT_TRUE(QTest::qWaitFor([&] { return view.account().sections.size() == 1; }, 10000));
  EXPECT_FALSE(view.isMaking());
  EXPECT_NE(view.account().sections[0].sentence.find("Own devices (O)"), std::string::npos);
}

TEST_F(OwnAxisLongTest, AnotherRecordingIsShownInPlaceOfOneThatIsStillBeingRead) {
  open(longStep());
  QTest::keyClick(&view, Qt::Key_O);
  open(test::OwnClockCase::ring(1000));
  ASSERT_TRUE(view.clock());
  EXPECT_FALSE(view.isMaking());
  const auto clock = view.clock();
  QTest::qWait(200);
  EXPECT_EQ(view.clock(), clock) << "what was left comes to nothing";
}

}  // namespace
}  // namespace ringscope::viz
