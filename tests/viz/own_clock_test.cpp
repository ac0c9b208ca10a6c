// SPDX-License-Identifier: GPL-3.0-or-later
// The own-device clock as the window has it, against schedules computed by hand and `predict`.
#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"
#include "tests/viz/own_clock_cases.h"
#include "traces/analysis/clock/prediction.h"
#include "viz/views/timeline/account_scene.h"
#include "viz/views/timeline/own_clock_scene.h"

namespace ringscope::viz {
namespace {

using test::kOne;
using test::kSwap;
using test::kZero;
using test::makeLink;
using test::ownClock;
using traces::EventKind;

TEST(OwnClockTest, LanesHoldTheScheduleAtTheModelsTimes) {
  // Both post at 0; at 1 GB/s 2,000 bytes arrive 2,100 ns later. Rank 0 waits from 1,000 on.
  const auto clock = ownClock(kSwap, makeLink(1, 0.1));
  const SpanTree& own = clock->tracks->of(kZero)->lane(LaneKind::kCompute);
  ASSERT_EQ(own.size(), 3u);
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected = {
      {0, 1000}, {1000, 2100}, {2100, 2400}};
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(std::pair(own[i].begin_ns, own[i].end_ns), expected[i]) << i;
  EXPECT_EQ(own[1].shade, Shade::kWait);
  const SpanTree& out = clock->tracks->of(kZero)->lane(LaneKind::kKv);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(std::pair(out[0].begin_ns, out[0].end_ns), std::pair(0L, 2100L));
  EXPECT_EQ(clock->tracks->of(kOne)->lane(LaneKind::kCompute).total()->end_ns, 5000);
  EXPECT_EQ(clock->tracks->step(0)->window(), (TimeWindow{0, 5000}));
}

TEST(OwnClockTest, ARingOfFourHidesWhatItsAttentionIsLongEnoughFor) {
  const std::vector<WorldRank> ranks = {kZero, kOne, WorldRank::of(2), WorldRank::of(3)};
  // Three hops take 2,500 each, and 1,500 of each extend beyond a block of 1,000.
  const auto slow = ownClock(test::OwnClockCase::ring(1000), test::OwnClockCase::link());
  EXPECT_EQ(slow->timeline.endNs(), 3 * 2500 + 1000);
  for (const RankAccount& rank : makeStepAccount(*slow, ranks).ranks) {
    EXPECT_EQ(rank.exposure.exposed_ns, 3 * 1500);
    EXPECT_EQ(rank.exposure.hidden_ns, 3 * 1000);
    EXPECT_EQ(rank.used(TimeUse::kAttention), 4 * 1000);
    EXPECT_EQ(rank.hops, 3);
  }
  const auto hidden = ownClock(test::OwnClockCase::ring(3000), test::OwnClockCase::link());
  EXPECT_EQ(hidden->timeline.endNs(), 4 * 3000);
  EXPECT_EQ(makeStepAccount(*hidden, ranks).exposure().exposed_ns, 0);
  EXPECT_EQ(makeStepAccount(*hidden, ranks).exposure().hidden_ns, 4 * 3 * 2500);
}

TEST(OwnClockTest, AnAllGatherOfFourExposesWhatItsOwnBlockDoesNotCover) {
  // Three messages leave one after the other: the last arrives at 3 × 2,000 + 500.
  const auto clock = ownClock(test::OwnClockCase::allGather(1000), test::OwnClockCase::link());
  EXPECT_EQ(clock->timeline.endNs(), 6500 + 3 * 1000);
  const StepAccount account = makeStepAccount(*clock, {kZero});
  EXPECT_EQ(account.ranks[0].exposure.exposed_ns, 5500);
  EXPECT_EQ(account.ranks[0].exposure.hidden_ns, 1000);
}

TEST(OwnClockTest, TheCriticalPathOfASlowRingIsItsHopsAndTheLastBlock) {
  const auto clock = ownClock(test::OwnClockCase::ring(1000), test::OwnClockCase::link());
  const auto chain = criticalChain(*clock);
  const ChainAccount account = chainAccount(*chain);
  EXPECT_EQ(account.sending_ns, 3 * 2500);
  EXPECT_EQ(account.computing_ns, 1000);
  EXPECT_EQ(account.waiting_ns, 0);
  std::int64_t until = 0;
  for (const ChainLink& link : chain->links) {
    EXPECT_EQ(link.begin_ns, until) << "without gaps";
    until = link.end_ns;
  }
  EXPECT_EQ(until, clock->timeline.endNs());
  ASSERT_EQ(chain->links.size(), 4u);
  EXPECT_EQ(chain->links[0].lane, LaneKind::kKv);
  EXPECT_EQ(chain->links[3].lane, LaneKind::kCompute);
  // All ranks are equally late: the path stays with the first, which gets its hops from rank 3.
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(chain->links[i].rank, WorldRank::of(3));
  EXPECT_EQ(chain->links[3].rank, kZero);
  const AccountSection section = chainSection(*chain);
  EXPECT_EQ(section.rows[1].second, "7.5 µs · 88 %");
}

TEST(OwnClockTest, TheCriticalPathOfAnAllGatherWaitsForTheLink) {
  const auto clock = ownClock(test::OwnClockCase::allGather(1000), test::OwnClockCase::link());
  const ChainAccount account = chainAccount(*criticalChain(*clock));
  // The last of three messages begins to move when two have left: at 4,000.
  EXPECT_EQ(account.waiting_ns, 4000);
  EXPECT_EQ(account.sending_ns, 2500);
  EXPECT_EQ(account.computing_ns, 3 * 1000);
}

TEST(OwnClockTest, TheCriticalPathOfAQuickRingIsWork) {
  const auto clock = ownClock(test::OwnClockCase::ring(3000), test::OwnClockCase::link());
  const ChainAccount account = chainAccount(*criticalChain(*clock));
  EXPECT_EQ(account.computing_ns, 4 * 3000);
  EXPECT_EQ(account.sending_ns + account.waiting_ns, 0);
  EXPECT_EQ(account.ranks.size(), 1u);
}

TEST(OwnClockTest, AsRecordedThePathOfSharedCoresIsNotKnown) {
  const auto trace = test::makeTrace(test::OwnClockCase::ring(1000));
  const AccountSection section =
      whyNoRecordedChain(*recordedStep(traces::stepEvents(*trace, 0, 0)), *trace);
  EXPECT_FALSE(recordedChain(*recordedStep(traces::stepEvents(*trace, 0, 0)), {}));
  EXPECT_TRUE(section.rows.empty());
  EXPECT_NE(section.sentence.find("4 virtual ranks took turns on 1 core"), std::string::npos)
      << section.sentence;
}

TEST(OwnClockTest, WithACoreForEachRankThePathIsReadFromRecordedWaits) {
  std::string text = kSwap;
  text.replace(text.find("cores=1"), 7, "cores=2");
  const auto chain =
      recordedChain(*recordedStep(traces::stepEvents(*test::makeTrace(text), 0, 0)), {});
  ASSERT_TRUE(chain);
  // Rank 1 ends last. Its wait ended when its own message had left at 900. It had posted this
  // message last, at 199, when the message started.
  const std::vector<ChainLink> expected = {
      {kOne, LaneKind::kKv, 199, 900, ChainLink::Kind::kMove},
      {kOne, LaneKind::kCompute, 900, 901, ChainLink::Kind::kWait},
      {kOne, LaneKind::kCompute, 901, 990, ChainLink::Kind::kWork}};
  EXPECT_EQ(chain->links, expected);
}

TEST(OwnClockTest, ThePathGoesOverACollectiveToItsLastMember) {
  const std::string text =
      "run cp=2 cores=2\ngroup cp 0,1\n"
      "project rank=0 layer=0 time=0-100 cpu=100\n"
      "project rank=1 layer=0 time=10-400 cpu=390\n"
      "collective rank=0 direction=backward payload=grads bytes=8 flow=5 group=0 time=100-450\n"
      "collective rank=1 direction=backward payload=grads bytes=8 flow=5 group=0 time=400-450\n"
      "optimizer rank=0 direction=backward time=450-600 cpu=150\n"
      "optimizer rank=1 direction=backward time=450-500 cpu=50\n";
  const auto chain =
      recordedChain(*recordedStep(traces::stepEvents(*test::makeTrace(text), 0, 0)), {});
  ASSERT_TRUE(chain);
  const std::vector<ChainLink> expected = {
      {kOne, LaneKind::kCompute, 10, 400, ChainLink::Kind::kWork},
      {kZero, LaneKind::kCollective, 400, 450, ChainLink::Kind::kMove},
      {kZero, LaneKind::kCompute, 450, 600, ChainLink::Kind::kWork}};
  EXPECT_EQ(chain->links, expected);
}

TEST(OwnClockTest, ImpossibleTimesKeepThePathInOrder) {
  std::string text = kSwap;
  text.replace(text.find("cores=1"), 7, "cores=2");
  for (const char* posted : {"time=0-800", "time=0-900", "time=199-801", "time=199-900"})
    text.replace(text.find(posted), std::string(posted).size(), "time=850-850");
  const auto chain =
      recordedChain(*recordedStep(traces::stepEvents(*test::makeTrace(text), 0, 0)), {});
  ASSERT_TRUE(chain);
  std::int64_t until = 0;
  for (const ChainLink& link : chain->links) {
    EXPECT_GE(link.begin_ns, until);
    until = link.end_ns;
  }
}

TEST(OwnClockTest, AQuickerDeviceLeavesMoreExposed) {
  traces::Hardware on = makeLink(1, 0.1);
  on.compute_scale = 10;
  const auto clock = ownClock(kSwap, on);
  // Rank 1 has attended after 400 and 100 ns more; the message takes 2,100.
  EXPECT_EQ(clock->timeline.endNs(), 2200);
  const StepAccount account = makeStepAccount(*clock, {kZero, kOne});
  EXPECT_EQ(account.ranks[0].exposure.exposed_ns, 2000);
  EXPECT_EQ(account.ranks[1].exposure.exposed_ns, 1700);
}

TEST(OwnClockTest, TheAccountEqualsThatOfPredict) {
  const auto clock = ownClock(kSwap, makeLink(1, 0.1));
  const StepAccount account = makeStepAccount(*clock, {kZero, kOne});
  const auto figures = traces::sumCommunication(clock->recorded->program, clock->timeline);
  EXPECT_TRUE(account.model);
  EXPECT_EQ(account.exposure().exposed_ns, figures.attention.exposed_ns + figures.other.exposed_ns);
  EXPECT_EQ(account.exposure().hidden_ns, figures.attention.hidden_ns);
  EXPECT_EQ(account.used(TimeUse::kExposed), account.exposure().exposed_ns);
  EXPECT_EQ(account.ranks[0].step_ns, clock->timeline.rank_end_ns[0]);
  EXPECT_EQ(account.ranks[0].exposure.exposed_ns, 1100);
  EXPECT_EQ(account.ranks[0].exposure.hidden_ns, 1000);
  ASSERT_EQ(account.layers.size(), 1u);
  EXPECT_EQ(account.layers[0].exposure.exposed_ns, 1100);
  EXPECT_NE(account.sentence.find("Model: on a link of 1 GB/s"), std::string::npos)
      << account.sentence;
  EXPECT_NE(account.sentence.find("takes 5.0 µs"), std::string::npos) << account.sentence;
}

TEST(OwnClockTest, ACollectiveIsExposedAsInPredict) {
  const std::string reduce =
      std::string(kSwap) +
      "collective rank=0 direction=backward payload=grads bytes=4000 flow=31 "
      "group=0 time=1000-1100\n"
      "grad_sync rank=0 direction=backward time=1000-1200 cpu=100\n"
      "collective rank=1 direction=backward payload=grads bytes=4000 flow=31 "
      "group=0 time=1000-1100\n"
      "grad_sync rank=1 direction=backward time=1000-1200 cpu=100\n";
  const auto clock = ownClock(reduce, makeLink(1, 0.1));
  const StepAccount account = makeStepAccount(*clock, {kZero, kOne});
  for (const WorldRank rank : {kZero, kOne}) {
    const RankAccount& of = account.ranks[rank.index()];
    EXPECT_EQ(of.used(TimeUse::kExposed), clock->timeline.sum(rank).exposed_ns);
    EXPECT_EQ(of.used(TimeUse::kSync), 100);
    EXPECT_EQ(of.step_ns, clock->timeline.rank_end_ns[rank.index()]);
  }
}

TEST(OwnClockTest, ARecordedTimeMapsToTheSameShareOfItsStage) {
  const auto clock = ownClock(kSwap, makeLink(1, 0.1));
  EXPECT_EQ(clock->modelled(kZero, 250), 500);   // half of 1,000 ns of CPU time
  EXPECT_EQ(clock->modelled(kZero, 750), 1550);  // half of its wait
  EXPECT_EQ(clock->modelled(kOne, 950), 4500);
  EXPECT_EQ(clock->recordedAt(kZero, 1550), 750);
  EXPECT_EQ(clock->recordedAt(kOne, 4500), 950);
  EXPECT_EQ(clock->recordedAt(kOne, 9e9), 990) << "beyond its end it is at its end";
}

TEST(OwnClockTest, ATooltipSaysThatItsTimesAreAModel) {
  const auto clock = ownClock(kSwap, makeLink(1, 0.1));
  const Span wait = clock->tracks->of(kZero)->lane(LaneKind::kCompute)[1];
  const SpanDetails details = spanDetails(*clock, {kZero, LaneKind::kCompute, wait});
  EXPECT_EQ(details.title, "waits for KV from rank 1");
  const std::string words = detailWords(details);
  EXPECT_NE(words.find("model, not a measurement"), std::string::npos) << words;
  EXPECT_NE(words.find("by the model: 1.1 µs"), std::string::npos) << words;
  EXPECT_NE(words.find("exposed: 1.1 µs"), std::string::npos) << words;
  EXPECT_NE(words.find("recorded wall time: 300 ns"), std::string::npos) << words;
  EXPECT_TRUE(spanDetails(*clock, SpanPlace()).title.empty());
}

TEST(OwnClockTest, NamesTheRunThatWouldRecordMissingTimes) {
  std::string text = kSwap;
  for (std::size_t at; (at = text.find(" cpu=")) != std::string::npos;)
    text.erase(at, text.find('\n', at) - at);
  const auto trace = test::makeTrace(text);
  const auto recorded = recordedStep(traces::stepEvents(*trace, 0, 0));
  EXPECT_FALSE(recorded->usable());
  const std::string why = whyNoModel(*recorded);
  EXPECT_NE(why.find("no CPU time was recorded"), std::string::npos) << why;
  EXPECT_NE(why.find("ringscope train has CPU times"), std::string::npos) << why;
}

TEST(OwnClockTest, HardwareIsDescribedByNameOrByItsFigures) {
  traces::Hardware hardware;
  hardware.link = traces::linkPreset("pcie4").value;
  EXPECT_EQ(describe(hardware), "PCIe 4.0 ×16");
  hardware.link.latency_us = 20;
  hardware.overlap = false;
  hardware.compute_scale = 1174.4;
  EXPECT_EQ(describe(hardware), "a link of 31.5 GB/s and 20 µs without overlap, compute ×1,170,");
}

TEST(OwnClockTest, PausesAndVerificationAreNoPartOfIt) {
  const std::string held =
      std::string(kSwap) + "pause rank=0 time=2000-9000\nverify rank=0 time=9000-9500 cpu=400\n";
  const auto clock = ownClock(held, makeLink(1, 0.1));
  EXPECT_EQ(clock->timeline.endNs(), 5000);
  EXPECT_EQ(clock->tracks->of(kZero)->lane(LaneKind::kCompute).size(), 3u);
  EXPECT_EQ(makeStepAccount(*clock, {kZero}).used(TimeUse::kVerify), 0);
}

TEST(OwnClockTest, TwiceTheSameGivesTheSame) {
  const auto once = ownClock(kSwap, makeLink(3, 0.7)), again = ownClock(kSwap, makeLink(3, 0.7));
  EXPECT_EQ(once->timeline.spans, again->timeline.spans);
  EXPECT_EQ(makeStepAccount(*once, {kZero, kOne}).sentence,
            makeStepAccount(*again, {kZero, kOne}).sentence);
}

}  // namespace
}  // namespace ringscope::viz
