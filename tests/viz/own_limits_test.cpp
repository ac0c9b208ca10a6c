// SPDX-License-Identifier: GPL-3.0-or-later
// Devices, floors and shares in the own-device account.
#include <gtest/gtest.h>

#include "tests/viz/own_clock_cases.h"
#include "viz/views/timeline/own_clock_scene.h"
#include "viz/views/timeline/rank_caption_scene.h"

namespace ringscope::viz {
namespace {

using test::kSwap;
using test::kZero;
using test::makeLink;
using test::ownClock;

TEST(OwnLimitsTest, TheAccountNamesTheDeviceAndTheFloors) {
  traces::Hardware hardware;
  hardware.link = traces::linkPreset("pcie4").value;
  hardware.compute_scale = 4590;
  hardware.device = traces::DeviceShare{"H100 SXM", 0.6};
  hardware.floors = {2.4, 0};
  EXPECT_EQ(describe(hardware),
            "PCIe 4.0 ×16, H100 SXM at 60 % of its peak (compute ×4,590), at least 2.4 µs per "
            "kernel,");
  hardware.floors = {0, 8.4};
  hardware.device.reset();
  EXPECT_EQ(describe(hardware), "PCIe 4.0 ×16, compute ×4,590, at least 8.4 µs per transfer,");
}

TEST(OwnLimitsTest, TimeForLatePeersIsNoTimeInFlight) {
  // Rank 1 posts 3,000 ns late: rank 0 waits for 4,100 ns, and a message moves for 2,100 of them.
  const auto clock = ownClock("project rank=1 layer=0 time=100-150 cpu=3000\n" + std::string(kSwap),
                              makeLink(1, 0.1));
  const StepAccount account = makeStepAccount(*clock, {kZero});
  const Exposure& of = account.ranks[0].exposure;
  EXPECT_EQ(of.exposed_ns, 4100);
  EXPECT_EQ(of.underWayNs(), 2100);
  EXPECT_EQ(of.hiddenShare(), 0.0) << "not a share of the 4,100";
  EXPECT_NE(account.sentence.find("; 0 % of the time that communication is in flight is hidden"),
            std::string::npos)
      << account.sentence;
}

TEST(OwnLimitsTest, OneRankHasNoShareOfHiddenCommunication) {
  const auto clock = ownClock("run cp=1 cores=1\nattend rank=0 layer=0 stage=0 time=0-9 cpu=9\n",
                              makeLink(1, 0.1));
  const StepAccount account = makeStepAccount(*clock, {kZero});
  EXPECT_FALSE(account.exposure().hiddenShare());
  EXPECT_EQ(account.sentence.find("hidden"), std::string::npos) << account.sentence;
  EXPECT_NE(account.sentence.find("; work-bound (100 % of the critical path)."), std::string::npos)
      << account.sentence;
}

TEST(OwnLimitsTest, TheRecordedAccountDefinesHiddenAlike) {
  // A hop of 100 during 60 of attention, a wait of 30, 10 of nothing; then a wait without a
  // message.
  const auto trace = test::makeTrace(
      "run cp=1 cores=1\ngroup cp 0\n"
      "attend rank=0 layer=0 stage=0 time=0-60 cpu=60\n"
      "send rank=0 peer=0 layer=0 stage=0 payload=kv flow=1 group=0 exchange=1 bytes=8 "
      "time=0-100\n"
      "wait rank=0 layer=0 stage=0 payload=kv group=0 exchange=1 time=70-100\n"
      "wait rank=0 layer=0 stage=1 payload=kv group=0 exchange=2 time=100-120\n");
  const StepAccount account = makeStepAccount(*trace, Cursor());
  const Exposure all = account.exposure();
  EXPECT_EQ(all.underWayNs(), 100);
  EXPECT_EQ(all.hidden_ns, 70);
  EXPECT_EQ(all.exposed_ns, 30 + 20);
  EXPECT_EQ(all.late_ns, 20) << "nothing was in flight";
  EXPECT_EQ(all.hiddenShare(), 0.7);
  EXPECT_TRUE(
      account.sentence.starts_with("70 % of the time that communication is in flight is hidden;"))
      << account.sentence;
  EXPECT_TRUE(rankCaption(account.ranks[0], false)
                  .starts_with("stands still for 50 ns · 70 ns of 100 ns in flight hidden"));
}

TEST(OwnLimitsTest, PlacesThatAreExposedAlikeAreAllMeant) {
  const auto trace = test::makeTrace(
      "run cp=1 cores=1\ngroup cp 0\n"
      "send rank=0 peer=0 layer=0 stage=0 payload=kv flow=1 group=0 exchange=1 time=0-50\n"
      "wait rank=0 layer=0 stage=0 payload=kv group=0 exchange=1 time=0-50\n"
      "send rank=0 peer=0 layer=1 stage=0 payload=kv flow=2 group=0 exchange=2 time=50-100\n"
      "wait rank=0 layer=1 stage=0 payload=kv group=0 exchange=2 time=50-100\n");
  const StepAccount account = makeStepAccount(*trace, Cursor());
  EXPECT_NE(account.sentence.find("as much in each of 2 places (50 ns of all ranks)"),
            std::string::npos)
      << account.sentence;
}

TEST(OwnLimitsTest, OutsideTheLayersIsOnePlaceInSentenceAndTable) {
  const auto trace = test::makeTrace(
      "run cp=1 cores=1\ngroup cp 0\n"
      "collective rank=0 payload=scalars flow=1 group=0 time=0-30\n"
      "collective rank=0 direction=backward payload=grads flow=2 group=0 time=30-60\n"
      "send rank=0 peer=0 layer=1 stage=0 payload=kv flow=3 group=0 exchange=2 time=60-100\n"
      "wait rank=0 layer=1 stage=0 payload=kv group=0 exchange=2 time=60-100\n");
  const StepAccount account = makeStepAccount(*trace, Cursor());
  EXPECT_NE(account.sentence.find("most of it outside the layers (60 ns of all ranks)"),
            std::string::npos)
      << account.sentence;
}

}  // namespace
}  // namespace ringscope::viz
