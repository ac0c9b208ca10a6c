// SPDX-License-Identifier: Apache-2.0
// Schedules computed by hand, for cp 4 to 16. Blocks take 1,000 ns forward and 2,000 ns backward.
// Hops take 2,000 ns on the wire after 500 ns of latency (clock_cases.h).
#include <gtest/gtest.h>

#include "tests/support/clock_cases.h"
#include "traces/format/core/error.h"
#include "traces/format/core/stopped.h"

namespace ringscope::test {
namespace {

using namespace traces;

constexpr std::int64_t kAttend = 1000, kBackward = 2000, kWire = 2000, kLatency = 500;
constexpr std::int64_t kHop = kWire + kLatency;

class ClockStrategiesTest : public testing::TestWithParam<int> {
 protected:
  int cp() const { return GetParam(); }
  std::int64_t others() const { return cp() - 1; }

  /// Every rank has the same exposed time, and every nanosecond of communication is accounted for.
  void expectExposed(const ClockCase& c, std::int64_t forward, std::int64_t backward) {
    const ModelTimeline timeline = replayed(c);
    for (int rank = 0; rank < cp(); ++rank) {
      EXPECT_EQ(ofLayer(timeline, rank, Direction::kForward).exposed_ns, forward)
          << "rank " << rank;
      EXPECT_EQ(ofLayer(timeline, rank, Direction::kBackward).exposed_ns, backward)
          << "rank " << rank;
      EXPECT_EQ(ofLayer(timeline, rank, Direction::kBackward).late_ns, 0);
    }
    for (const WaitCost& cost : timeline.waits)
      EXPECT_EQ(cost.under_way_ns, cost.hidden_ns + cost.exposed_ns - cost.late_ns);
  }
};

TEST_P(ClockStrategiesTest, ARingExposesTheExcessOfAHopOverABlock) {
  // Backward, KV and dKV share the link: the first dKV hop leaves when the first KV hop has left,
  // at 2,000. From then on the link is always busy, so each KV hop but the first ends 4,000 after
  // the one before: 2,000 of that are exposed. The last dKV hop home is exposed whole.
  const std::int64_t first = kHop - kBackward, later = 2 * kWire - kBackward;
  expectExposed(clockCase(cp()), others() * (kHop - kAttend),
                first + (others() - 1) * later + kHop);
}

TEST_P(ClockStrategiesTest, ARingWithHiddenHopsExposesTheLastHopHome) {
  ClockCase c = clockCase(cp());
  c.device.attention_flops /= 3;           // blocks of 3,000
  c.device.attention_backward_flops /= 3;  // and 6,000, longer than both hops
  expectExposed(c, 0, kHop);
}

TEST_P(ClockStrategiesTest, DiagonalLastHasNoHopHome) {
  ClockCase c = clockCase(cp());
  c.run.order = Order::kDiagonalLast;
  c.device.attention_flops /= 3;
  c.device.attention_backward_flops /= 3;
  expectExposed(c, 0, 0);
}

TEST_P(ClockStrategiesTest, AGatheredRingHidesOneBlockOfTheGather) {
  ClockCase c = clockCase(cp());
  c.run.rotate = Rotate::kAllGather;
  const std::int64_t gather = others() * kWire + kLatency;
  const ModelTimeline timeline = replayed(c);
  EXPECT_EQ(ofLayer(timeline, 0, Direction::kForward).exposed_ns, gather - kAttend);
  EXPECT_EQ(ofLayer(timeline, 0, Direction::kForward).hidden_ns, kAttend);
}

TEST_P(ClockStrategiesTest, AllGatherExposesItsWholeGather) {
  const std::int64_t gather = others() * kWire + kLatency;
  expectExposed(clockCase(cp(), Strategy::kAllGather), gather, 2 * gather);
}

TEST_P(ClockStrategiesTest, UlyssesExposesFiveAllToAlls) {
  // Each other rank gets 16 tokens of h = 16 ÷ cp heads. q, k, v and their gradients are 16 · 3h ·
  // 2 · 4 = 384h bytes, out and dout 128h, lse 64h. At 1 GB/s a byte takes 1 ns.
  ClockCase c = clockCase(cp(), Strategy::kUlysses);
  c.hardware.link.gigabytes_per_second = 1;
  const auto swap = [&](std::int64_t bytes) { return others() * bytes * (16 / cp()) + kLatency; };
  expectExposed(c, swap(384) + swap(128) + swap(64), swap(128) + swap(384));
}

TEST_P(ClockStrategiesTest, HybridExposesItsSwapsAndItsRing) {
  ClockCase c = clockCase(cp(), Strategy::kHybrid);
  c.run.ulysses = 2;
  // Two ranks swap 8 heads of 16 tokens: 3,072 bytes, 1,024 and 512, then back 1,024 and 3,072. A
  // block of the ring has twice the tokens and half the heads: 2,000 and 4,000 ns, hops as before.
  const auto swap = [](std::int64_t bytes) { return bytes * kWire / 4096 + kLatency; };
  const std::int64_t rings = cp() / 2;
  // Backward, KV leaves after the dKV that is posted with it. Every second KV hop ends 500 ns after
  // the block above it, which then leaves the link that much more time for the next.
  expectExposed(
      c, swap(3072) + (rings - 1) * (kHop - 2 * kAttend) + swap(1024) + swap(512),
      swap(1024) + (rings - 1) / 2 * (2 * kWire + kLatency - 2 * kBackward) + kHop + swap(3072));
}

TEST_P(ClockStrategiesTest, WithoutOverlapEveryHopComesAfterItsBlock) {
  ClockCase c = clockCase(cp());
  c.hardware.overlap = false;
  const ModelTimeline timeline = replayed(c);
  EXPECT_EQ(ofLayer(timeline, 0, Direction::kForward).exposed_ns, others() * kHop);
  EXPECT_EQ(ofLayer(timeline, 0, Direction::kForward).hidden_ns, 0);
  EXPECT_EQ(ofLayer(timeline, 0, Direction::kBackward).exposed_ns, others() * kHop + cp() * kHop);
}

TEST_P(ClockStrategiesTest, AHalfDuplexLinkTakesTwiceAsLong) {
  ClockCase c = clockCase(cp());
  c.hardware.link.full_duplex = false;
  // A rank's link sends for 2,000 ns, and then receives for as long.
  EXPECT_EQ(ofLayer(replayed(c), 0, Direction::kForward).exposed_ns,
            others() * (2 * kWire - kAttend));
}

TEST_P(ClockStrategiesTest, PairLinksCarryAGatherAtOnce) {
  ClockCase c = clockCase(cp(), Strategy::kAllGather);
  c.hardware.link.shared = false;
  expectExposed(c, kHop, 2 * kHop);
}

TEST_P(ClockStrategiesTest, TheCriticalPathIsTheWholeStep) {
  for (const Strategy strategy : {Strategy::kRing, Strategy::kAllGather, Strategy::kUlysses}) {
    const ModelTimeline timeline = replayed(clockCase(cp(), strategy));
    std::int64_t until = 0;
    for (const CriticalPart& part : timeline.critical_path) {
      EXPECT_EQ(part.span.begin_ns, until);
      EXPECT_GT(part.span.end_ns, until);
      until = part.span.end_ns;
    }
    EXPECT_EQ(until, timeline.endNs());
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ClockStrategiesTest, testing::Values(4, 8, 16));

TEST(ClockTest, OneRankExposesNothing) {
  for (const Strategy strategy :
       {Strategy::kRing, Strategy::kAllGather, Strategy::kUlysses, Strategy::kHybrid}) {
    const ModelTimeline timeline = replayed(clockCase(1, strategy));
    EXPECT_TRUE(timeline.waits.empty());
    EXPECT_EQ(timeline.endNs(), kAttend + kBackward);
  }
}

TEST(ClockTest, CausalWorkWithoutBalanceMakesRanksLate) {
  // Four ranks of 16 tokens: the diagonal has 136 of 256 pairs, blocks above it nothing.
  ClockCase c = clockCase(4);
  c.run.mask = MaskKind::kCausal;
  c.run.balance = Balance::kNone;
  c.device.attention_flops = 4 * 2 * 16 * 1e9;  // a pair takes 1 ns
  c.hardware.link = {"free", 0, 0, true, true};
  const ModelTimeline timeline = replayed(c);
  // All attend their diagonals at once, 136. Then rank 0 has no work left, and rank 3 has three
  // blocks of 256. A hop is over as soon as both ends have posted it. Rank r + 1 posts its second
  // hop when it has attended its first block.
  EXPECT_EQ(ofLayer(timeline, 3, Direction::kForward).exposed_ns, 0);
  EXPECT_EQ(ofLayer(timeline, 0, Direction::kForward).exposed_ns, 256);
  EXPECT_EQ(ofLayer(timeline, 0, Direction::kForward).late_ns, 256);
}

TEST(ClockTest, TheSameProgramHasTheSameTimeline) {
  ClockCase c = clockCase(16, Strategy::kHybrid);
  c.run.mask = MaskKind::kCausal;
  const ModelTimeline one = replayed(c), two = replayed(c);
  EXPECT_EQ(one.spans, two.spans);
  EXPECT_EQ(one.endNs(), two.endNs());
  EXPECT_EQ(one.critical_path.size(), two.critical_path.size());
}

TEST(ClockTest, TwiceTheComputeHalvesTheWorkAndNoTransfer) {
  ClockCase c = clockCase(4);
  c.hardware.compute_scale = 2;
  EXPECT_EQ(ofLayer(replayed(c), 0, Direction::kForward).exposed_ns, 3 * (kHop - kAttend / 2));
}

TEST(ClockTest, RejectsInvalidHardware) {
  const auto rejects = [](auto change) {
    ClockCase c = clockCase(1);
    change(c.hardware);
    EXPECT_THROW(replayed(c), Error);
  };
  rejects([](Hardware& h) { h.compute_scale = 0; });
  rejects([](Hardware& h) { h.link.latency_us = -1; });
  for (const double floor : {-1.0, 1e7, std::numeric_limits<double>::quiet_NaN()}) {
    rejects([&](Hardware& h) { h.floors.kernel_us = floor; });
    rejects([&](Hardware& h) { h.floors.collective_us = floor; });
  }
}

TEST(ClockTest, AReplayStopsOnRequest) {
  const ClockCase c = clockCase(2);
  const Program program = plannedProgram(c.run, c.sizes, c.device);
  std::stop_source stop;
  EXPECT_EQ(replay(program, c.hardware, stop.get_token()).endNs(),
            replay(program, c.hardware).endNs());
  stop.request_stop();
  EXPECT_THROW(replay(program, c.hardware, stop.get_token()), Stopped);
}

TEST(ClockTest, NamesTheRanksOfADeadlock) {
  ClockCase c = clockCase(2);
  Program program = plannedProgram(c.run, c.sizes, c.device);
  program.ranks[1].ops.clear();
  try {
    replay(program, c.hardware);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 0 waits for ever"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos);
  }
}

}  // namespace
}  // namespace ringscope::test
