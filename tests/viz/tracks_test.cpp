// SPDX-License-Identifier: GPL-3.0-or-later
// Lanes, their drawing, and the account of time, on recordings of a few lines.
#include "viz/scene/tracks.h"

#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"
#include "tests/viz/indexed_trace.h"
#include "tests/viz/small_run.h"
#include "traces/format/trace/trace.h"
#include "viz/views/timeline/account_scene.h"
#include "viz/views/timeline/chart_scene.h"
#include "viz/views/timeline/lane_sample_scene.h"
#include "viz/views/timeline/track_search_scene.h"

namespace ringscope::viz {
namespace {

using test::firstStep;
using test::kOne;
using test::kZero;
using traces::EventKind;

/// Two ranks and one training step: rank 0 attends, hides half of a hop, waits for the rest,
/// attends again, reduces gradients, and updates.
constexpr const char* kStep =
    "group cp 0,1\n"
    "project rank=0 layer=0 time=0-100 cpu=90\n"
    "attend rank=0 layer=0 stage=0 source=0 time=100-300 cpu=200\n"
    "send rank=0 peer=1 payload=kv layer=0 stage=0 source=0 flow=1 bytes=800 time=100-400\n"
    "wait rank=0 peer=1 payload=kv layer=0 stage=0 source=0 time=300-450 cpu=3\n"
    "attend rank=0 layer=0 stage=1 source=1 time=450-650 cpu=100\n"
    "merge rank=0 layer=0 stage=1 source=1 time=650-700 cpu=50\n"
    "collective rank=0 direction=backward payload=grads bytes=64 time=700-760\n"
    "grad_sync rank=0 direction=backward time=700-800 cpu=20\n"
    "collective rank=0 direction=backward payload=scalars bytes=8 time=820-900\n"
    "optimizer rank=0 direction=backward time=900-1000 cpu=100\n"
    "attend rank=1 layer=0 stage=0 source=1 time=0-500\n"
    "receive rank=1 peer=0 payload=kv layer=0 stage=0 source=0 flow=1 bytes=800 time=90-400\n";

TEST(TracksTest, EveryEventButReceivesLiesInTheLaneOfItsKind) {
  const auto tracks = makeTracks(*test::makeTrace(kStep));
  ASSERT_EQ(tracks->ranks.size(), 2u);
  const RankTracks& zero = *tracks->of(kZero);
  EXPECT_EQ(zero.lane(LaneKind::kCompute).size(), 7u);
  EXPECT_EQ(zero.lane(LaneKind::kKv).size(), 1u);
  EXPECT_EQ(zero.lane(LaneKind::kKv)[0].peer_index, 1);
  EXPECT_EQ(zero.lane(LaneKind::kKv).bytes(0), 800);
  EXPECT_EQ(zero.lane(LaneKind::kDkv).size(), 0u);
  EXPECT_EQ(zero.lane(LaneKind::kCollective).size(), 2u);
  EXPECT_EQ(tracks->of(kOne)->lane(LaneKind::kCompute).size(), 1u);
  EXPECT_EQ(tracks->of(WorldRank::of(2)), nullptr);
  EXPECT_EQ(usedLanes(*tracks, {kZero, kOne}),
            (std::vector{LaneKind::kCompute, LaneKind::kKv, LaneKind::kCollective}))
      << "no lane for dKV, of which there is none";
  EXPECT_EQ(tracks->begin_ns, 0);
  EXPECT_EQ(tracks->end_ns, 1000);
  ASSERT_EQ(tracks->steps.size(), 1u);
  EXPECT_EQ(tracks->steps[0].busy_ns[static_cast<std::size_t>(Shade::kAttend)], 900);
}

TEST(TracksTest, PausesOfAllRanksAreFoldedAndThoseOfOneAreNot) {
  const auto tracks = makeTracks(*test::makeTrace(
      "attend rank=0 layer=0 stage=0 source=0 time=0-100\npause rank=0 time=100-1100\n"
      "attend rank=0 layer=0 stage=1 source=1 time=1100-1200\n"
      "attend rank=1 layer=0 stage=0 source=1 time=0-400\npause rank=1 time=400-1100\n"
      "attend rank=1 layer=0 stage=1 source=0 time=1100-1300\n"));
  ASSERT_EQ(tracks->folds.all().size(), 1u);
  EXPECT_EQ(tracks->folds.all()[0], (TimeFold{400, 1100}));
  EXPECT_EQ(tracks->end_ns, 600);
  const SpanTree& zero = tracks->of(kZero)->lane(LaneKind::kCompute);
  EXPECT_EQ(zero[1].begin_ns, 100) << "rank 0 stood while rank 1 went on";
  EXPECT_EQ(zero[1].end_ns, 400);
  EXPECT_EQ(zero[2].begin_ns, 400);
  EXPECT_EQ(zero[2].end_ns, 500);
}

TEST(TracksTest, AnotherAxisPutsEventsElsewhere) {
  TracksBuilder builder([](const traces::Event& event) {
    return Stretch{event.begin_ns / 2, event.end_ns / 2};
  });
  const auto trace = test::makeTrace(kStep);
  for (const traces::Event& event : trace->events(kZero)) builder.take(event);
  const auto tracks = builder.finish();
  EXPECT_EQ(tracks->end_ns, 500);
  EXPECT_EQ(tracks->of(kZero)->lane(LaneKind::kKv)[0].begin_ns, 50);
}

TEST(TracksTest, StepsAreFoundByNumberAndByTime) {
  const auto trace = test::smallRun(5, 4, 2);
  const auto tracks = makeTracks(*trace);
  ASSERT_EQ(tracks->steps.size(), 5u);
  const StepTrack* third = tracks->step(2);
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(tracks->stepAt(static_cast<double>(third->begin_ns) + 1)->train_step, 2);
  EXPECT_EQ(tracks->stepAt(-1), nullptr);
  EXPECT_EQ(tracks->step(7), nullptr);
  const auto some = makeTracks(*trace, 1, 3);
  EXPECT_FALSE(some->whole);
  EXPECT_EQ(some->steps.size(), 3u);
  EXPECT_TRUE(makeTracks(traces::Trace())->empty());
}

TEST(LaneSampleTest, WideStretchesAreBarsAndNarrowOnesShareTheirPixels) {
  SpanTree lane;
  Span wide;
  wide.begin_ns = 0;
  wide.end_ns = 500;
  wide.shade = Shade::kAttend;
  lane.add(wide);
  Span narrow = wide;
  narrow.begin_ns = 525;
  narrow.end_ns = 530;
  narrow.source = 3;
  narrow.shade = Shade::kWait;
  lane.add(narrow);
  lane.finish();
  LaneSample sample;
  const WindowScale scale{{0, 1000}, 0, 100};  // 10 ns per pixel
  sampleLane(lane, scale, 6, sample);
  EXPECT_EQ(sample.bars, (std::vector<std::size_t>{0}));
  EXPECT_EQ(sample.first, 52);
  EXPECT_EQ(sample.last, 53);
  EXPECT_NEAR(sample.columns[52].share[static_cast<std::size_t>(Shade::kWait)], 0.5, 1e-5);
  EXPECT_EQ(sample.columns[52].source, 3);
  sampleLane(lane, {{2000, 3000}, 0, 100}, 6, sample);
  EXPECT_FALSE(sample.dense()) << "nothing is left of the frame before";
  EXPECT_FLOAT_EQ(sample.columns[52].busy(), 0);
}

TEST(LaneSampleTest, AHundredThousandStretchesAreAColumnAPixel) {
  SpanTree lane;
  for (int i = 0; i < 100'000; ++i) {
    Span span;
    span.begin_ns = i * 100;
    span.end_ns = span.begin_ns + (i % 2 ? 25 : 75);
    span.shade = i % 2 ? Shade::kMerge : Shade::kAttend;
    lane.add(span);
  }
  lane.finish();
  LaneSample sample;
  sampleLane(lane, {{0, 1e7}, 0, 1000}, 6, sample);
  EXPECT_TRUE(sample.bars.empty());
  double attend = 0, merge = 0;
  for (const ColumnMix& column : sample.columns) {
    attend += static_cast<double>(column.share[static_cast<std::size_t>(Shade::kAttend)]);
    merge += static_cast<double>(column.share[static_cast<std::size_t>(Shade::kMerge)]);
  }
  EXPECT_NEAR(attend / 1000, 0.375, 0.001);
  EXPECT_NEAR(merge / 1000, 0.125, 0.001);
  for (std::size_t i = 1; i + 1 < 1000; ++i) EXPECT_NEAR(sample.columns[i].busy(), 0.5, 0.11) << i;
}

TEST(RangeMeasureTest, CountsHopsAndTheBytesThatMovedWithin) {
  const auto tracks = makeTracks(*test::makeTrace(kStep));
  const RangeMeasure all = measureRange(*tracks, {kZero, kOne}, {0, 1000});
  EXPECT_EQ(all.hops, 1);
  EXPECT_EQ(all.bytes, 800);
  const RangeMeasure half = measureRange(*tracks, {kZero, kOne}, {250, 400});
  EXPECT_EQ(half.hops, 1);
  EXPECT_EQ(half.bytes, 400) << "half of its time";
  EXPECT_EQ(rangeWords(half), "150 ns · 1 hop · 400 B · 2.67 GB/s");
  EXPECT_EQ(measureRange(*tracks, {kZero}, {500, 600}).hops, 0);
  EXPECT_EQ(rangeWords(measureRange(*tracks, {kOne}, {500, 600})), "100 ns · 0 hops");
}

TEST(StepAccountTest, TheTimeOfARankAddsUpToItsStep) {
  const StepAccount account = makeStepAccount(*test::makeTrace(kStep), firstStep());
  ASSERT_EQ(account.ranks.size(), 2u);
  const RankAccount& zero = account.ranks[0];
  EXPECT_EQ(zero.used(TimeUse::kAttention), 450);
  EXPECT_EQ(zero.used(TimeUse::kCompute), 100);
  EXPECT_EQ(zero.used(TimeUse::kExposed), 150 + 80) << "the wait, and the collective under no work";
  EXPECT_EQ(zero.used(TimeUse::kSync), 200) << "the collective within it is its own";
  EXPECT_EQ(zero.used(TimeUse::kBetween), 20);
  EXPECT_EQ(zero.step_ns, 1000);
  EXPECT_EQ(zero.exposure.hidden_ns, 200 + 60) << "the hop under attention, the sync's collective";
  EXPECT_EQ(zero.exposure.bytes, 800 + 64 + 8);
  EXPECT_EQ(zero.hops, 1);
  EXPECT_EQ(zero.cpu_ns, 440);
  EXPECT_EQ(zero.wall_ns, 550);
  EXPECT_EQ(account.ranks[1].exposure.hidden_ns, 310);
  EXPECT_EQ(account.ranks[1].cpu_ns, 0) << "not recorded";
  EXPECT_FALSE(account.shared_cores) << "nobody says how many cores there were";
  EXPECT_TRUE(account.caveat.empty());
}

TEST(StepAccountTest, ExposedTimeIsThatOfALayerAndDirection) {
  const StepAccount account = makeStepAccount(*test::makeTrace(kStep), firstStep());
  ASSERT_EQ(account.layers.size(), 2u);
  EXPECT_EQ(account.layers[0].layer, Layer::of(0));
  EXPECT_EQ(account.layers[0].exposure.exposed_ns, 150);
  EXPECT_EQ(account.layers[0].exposure.hidden_ns, 200 + 310);
  EXPECT_EQ(account.layers[0].exposure.bytes, 800);
  EXPECT_TRUE(account.layers[1].layer.isNone());
  EXPECT_EQ(account.layers[1].exposure.exposed_ns, 80);
  EXPECT_NE(account.sentence.find("most of it in layer 0 forward"), std::string::npos)
      << account.sentence;
}

TEST(StepAccountTest, PausesAreLeftOutAndVirtualRanksSaySo) {
  const StepAccount account =
      makeStepAccount(*test::makeTrace("run cp=2 cores=1\ngroup cp 0,1\n"
                                       "attend rank=0 layer=0 stage=0 source=0 time=0-100\n"
                                       "pause rank=0 time=100-5000\n"
                                       "wait rank=0 payload=kv layer=0 stage=0 time=5000-5100\n"
                                       "attend rank=1 layer=0 stage=0 source=1 time=0-100\n"),
                      firstStep());
  EXPECT_EQ(account.ranks[0].step_ns, 200);
  EXPECT_EQ(account.ranks[0].used(TimeUse::kExposed), 100);
  EXPECT_TRUE(account.shared_cores);
  EXPECT_NE(account.caveat.find("2 virtual ranks take turns on 1 core"), std::string::npos)
      << account.caveat;
}

TEST(StepAccountTest, ARecordingWithoutLengthsSaysThatItCannotKnow) {
  const StepAccount account = makeStepAccount(
      *test::makeTrace("group cp 0\nattend rank=0 layer=0 stage=0 source=0 time=5-5\n"),
      firstStep());
  EXPECT_FALSE(account.timed);
  EXPECT_NE(account.sentence.find("not recorded"), std::string::npos);
}

TEST(SpanDetailsTest, ABarLeadsToItsEventAndSaysWhatIsKnown) {
  const auto trace = test::makeTrace(kStep);
  const auto tracks = makeTracks(*trace);
  const SpanTree& lane = tracks->of(kZero)->lane(LaneKind::kKv);
  const auto hit = spanAt(lane, 405, 10);
  ASSERT_TRUE(hit);
  EXPECT_FALSE(spanAt(lane, 420, 10)) << "too far away";
  const auto event = spanEvent(*trace, *tracks, {kZero, LaneKind::kKv, *hit});
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, EventKind::kSend);
  EXPECT_EQ(event->peer, kOne);
  const std::string words = detailWords(spanDetails(*event));
  EXPECT_EQ(words,
            "KV 0 under way to rank 1\nrank: 0\nplace: step 0 › layer 0 › forward › ring step 0\n"
            "wall time: 300 ns\nbytes: 800 B\nwhile it moved: 2.67 GB/s");
}

TEST(SpanDetailsTest, TheShortestOfWhatLiesAboveEachOtherIsMeant) {
  const auto tracks = makeTracks(*test::makeTrace(
      "grad_sync rank=0 time=0-100\nclip rank=0 time=40-60\noptimizer rank=0 time=90-95\n"));
  const SpanTree& lane = tracks->of(kZero)->lane(LaneKind::kCompute);
  EXPECT_EQ(spanAt(lane, 50, 1)->length(), 20);
  EXPECT_EQ(spanAt(lane, 70, 1)->length(), 100);
}

TEST(TrackSearchTest, FindsTheNextAndTheOneBefore) {
  const auto trace = test::makeTrace(kStep);
  const auto tracks = makeTracks(*trace);
  const auto find = [&](const char* words, double from, bool back = false) {
    return findSpan(*trace, *tracks, {kZero, kOne}, parseTrackQuery(words), from, back);
  };
  EXPECT_EQ(find("attend", -1)->span.begin_ns, 0);
  EXPECT_EQ(find("attend rank 0", -1)->span.begin_ns, 100);
  EXPECT_EQ(find("attend rank 0", 100)->span.begin_ns, 450);
  EXPECT_EQ(find("attend rank 0", 450, true)->span.begin_ns, 100);
  EXPECT_EQ(find("kv 1 attend rank 0", -1)->span.begin_ns, 450);
  EXPECT_EQ(find("Wait > 0.1 us", -1)->span.begin_ns, 300);
  EXPECT_FALSE(find("wait > 1 ms", -1));
  EXPECT_EQ(find("layer 0 merge", -1)->span.begin_ns, 650);
  EXPECT_FALSE(find("layer 1", -1));
  EXPECT_EQ(find("backward", -1)->span.begin_ns, 700);
  EXPECT_FALSE(find("attend step 3", -1));
  EXPECT_EQ(parseTrackQuery("attend nonsense").problem, "'nonsense' means nothing here");
  EXPECT_EQ(parseTrackQuery("> 3 parsecs").problem, "'>' needs a length, such as 2 ms");
  EXPECT_EQ(parseTrackQuery("> 1e30 s").problem, "'>' needs a length, such as 2 ms");
  EXPECT_EQ(parseTrackQuery("kv none").problem, "'kv' needs a number");
  EXPECT_EQ(parseTrackQuery("rank").problem, "'rank' needs a number");
  // Longer than an int can hold.
  EXPECT_EQ(parseTrackQuery("> 2151216476 ns").longer_ns, 2151216476);
  EXPECT_EQ(parseTrackQuery("> 40000 s").longer_ns, 40'000'000'000'000);
}

}  // namespace
}  // namespace ringscope::viz
