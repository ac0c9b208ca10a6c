// SPDX-License-Identifier: GPL-3.0-or-later
// The computations of the timeline: sums of spans, folds, windows and the effect of gestures on
// them, rulers.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "traces/analysis/account/time_folds.h"
#include "viz/maths/span_tree.h"
#include "viz/views/timeline/chart_state.h"
#include "viz/views/timeline/ruler_scene.h"

namespace ringscope::viz {

using traces::heldByAll;
using traces::TimeFold;
using traces::TimeFolds;
namespace {

Span span(std::int64_t begin, std::int64_t end, Shade shade = Shade::kAttend, int source = -1) {
  Span s;
  s.begin_ns = begin;
  s.end_ns = end;
  s.shade = shade;
  s.source = static_cast<std::int16_t>(source);
  return s;
}

double attendOf(const SpanTree& tree, double begin, double end, double most) {
  double sum = 0;
  tree.visit(
      begin, end, most,
      [&](const SpanSum& s, std::size_t) { sum += static_cast<double>(s.busy_ns[0]); },
      [&](std::size_t i) { sum += static_cast<double>(tree[i].length()); });
  return sum;
}

TEST(SpanTreeTest, SumsAndSpansCoverEverythingAtEveryZoom) {
  for (const int count : {0, 1, 7, 8, 9, 64, 65, 1000}) {
    SpanTree tree;
    for (int i = 0; i < count; ++i) tree.add(span(10 * i, 10 * i + 4));
    tree.finish();
    EXPECT_EQ(tree.size(), static_cast<std::size_t>(count));
    for (const double most : {-1.0, 0.0, 50.0, 800.0, 1e9})
      EXPECT_EQ(attendOf(tree, 0, 1e9, most), 4.0 * count) << count << " " << most;
  }
}

TEST(SpanTreeTest, VisitsOnlyWhatTouchesTheWindow) {
  SpanTree tree;
  for (int i = 0; i < 1000; ++i) tree.add(span(10 * i, 10 * i + 4));
  tree.finish();
  std::set<std::size_t> seen;
  tree.visit(
      2003, 2021, -1, [](const SpanSum&, std::size_t) { ADD_FAILURE(); },
      [&](std::size_t i) { seen.insert(i); });
  EXPECT_EQ(seen, (std::set<std::size_t>{200, 201, 202}));
}

TEST(SpanTreeTest, WorkGrowsWithPixelsAndNotWithEvents) {
  constexpr int kPixels = 1000;
  int least = 1 << 30, most = 0;
  for (const int count : {100'000, 800'000}) {
    SpanTree tree;
    for (int i = 0; i < count; ++i) tree.add(span(10 * i, 10 * i + 4));
    tree.finish();
    int visited = 0;
    tree.visit(
        0, 10.0 * count, 10.0 * count / kPixels, [&](const SpanSum&, std::size_t) { ++visited; },
        [&](std::size_t) { ++visited; });
    least = std::min(least, visited);
    most = std::max(most, visited);
  }
  EXPECT_LE(most, 16 * kPixels);
  EXPECT_LE(most, 8 * least) << "eight times the events are no more work than another fan";
}

TEST(SpanTreeTest, BurstsAreNoMoreWorkThanWhatIsSpreadOut) {
  SpanTree tree;  // half of all spans within a thousandth of the time
  for (int i = 0; i < 50'000; ++i) tree.add(span(1000 * i, 1000 * i + 5));
  for (int i = 0; i < 50'000; ++i) tree.add(span(50'000'000 + i, 50'000'001 + i));
  tree.finish();
  int visited = 0;
  tree.visit(
      0, 60e6, 60e6 / 1000, [&](const SpanSum&, std::size_t) { ++visited; },
      [&](std::size_t) { ++visited; });
  EXPECT_LE(visited, 16'000);
}

TEST(SpanTreeTest, SortsSpansByTheirBegin) {
  SpanTree tree;
  tree.add(span(5, 6), 50);
  tree.add(span(1, 9), 10);
  tree.add(span(3, 4), 30);
  tree.finish();
  EXPECT_EQ(tree[0].begin_ns, 1);
  EXPECT_EQ(tree.bytes(0), 10);
  EXPECT_EQ(tree.bytes(1), 30);
  EXPECT_EQ(tree.bytes(2), 50);
  EXPECT_EQ(tree.total()->bytes, 90);
  EXPECT_EQ(tree.total()->end_ns, 9);
}

TEST(SpanTreeTest, ALongSpanBeforeManyIsFoundUnderAllOfThem) {
  SpanTree tree;
  tree.add(span(0, 100'000, Shade::kPause));
  for (int i = 0; i < 5000; ++i) tree.add(span(10 * i + 1, 10 * i + 2));
  tree.finish();
  bool found = false;
  tree.visit(
      40'000, 40'001, 1, [](const SpanSum&, std::size_t) {},
      [&](std::size_t i) { found |= tree[i].shade == Shade::kPause; });
  EXPECT_TRUE(found);
}

TEST(TimeFoldsTest, TimesThatAreLeftOutLieOnTheFoldAndAllOthersComeBack) {
  const TimeFolds folds({{100, 200}, {250, 1250}});
  EXPECT_EQ(folds.folded(50), 50);
  EXPECT_EQ(folds.folded(100), 100);
  EXPECT_EQ(folds.folded(150), 100);
  EXPECT_EQ(folds.folded(200), 100);
  EXPECT_EQ(folds.folded(250), 150);
  EXPECT_EQ(folds.folded(700), 150);
  EXPECT_EQ(folds.folded(1300), 200);
  for (const std::int64_t ns : {0, 50, 99, 100, 201, 240, 250, 1251, 2000})
    EXPECT_EQ(folds.unfolded(folds.folded(ns)), ns) << ns;
  EXPECT_EQ(folds.places(), (std::vector<std::int64_t>{100, 150}));
}

TEST(TimeFoldsTest, OnlyWhereAllStandStillAtOnceIsFolded) {
  using V = std::vector<TimeFold>;
  EXPECT_EQ(heldByAll({{{10, 30}}, {{20, 40}}}), (V{{20, 30}}));
  EXPECT_EQ(heldByAll({{{10, 20}}, {{20, 40}}}), V());
  EXPECT_EQ(heldByAll({{{10, 20}}, {}}), V());
  EXPECT_EQ(heldByAll({{{50, 60}, {10, 20}}}), (V{{10, 20}, {50, 60}}));
  EXPECT_EQ(heldByAll({{{10, 30}, {15, 25}}, {{0, 100}}}), (V{{10, 30}})) << "once a rank";
  EXPECT_EQ(heldByAll({}), V());
}

TEST(TimeWindowTest, ZoomKeepsThePointersTimeAndStopsAtBothLimits) {
  const TimeWindow all{0, 3.6e12};  // an hour
  TimeWindow window{0, 3.6e12};
  const WindowScale before{window, 100, 1000};
  const double pointer = before.ns(350);
  for (int i = 0; i < 300; ++i) {
    window = window.zoomed(0.8, pointer, all);
    EXPECT_NEAR((WindowScale{window, 100, 1000}.x(pointer)), 350,
                0.1);  // doubles have a resolution of 20 ns in an hour
  }
  EXPECT_NEAR(window.length(), TimeWindow::kLeast, 1e-3);
  for (int i = 0; i < 300; ++i) window = window.zoomed(1.25, pointer, all);
  EXPECT_LE(window.length(), all.length() * 1.1 + 1);
  EXPECT_GE(window.length(), all.length());
}

TEST(TimeWindowTest, ThereIsAlwaysSomethingToSee) {
  const TimeWindow all{1000, 2000};
  TimeWindow window{1000, 1100};
  for (int i = 0; i < 100; ++i) window = window.panned(0.5, all);
  EXPECT_DOUBLE_EQ((window.begin_ns + window.end_ns) / 2, 2000);
  for (int i = 0; i < 100; ++i) window = window.panned(-0.5, all);
  EXPECT_DOUBLE_EQ((window.begin_ns + window.end_ns) / 2, 1000);
}

TEST(ChartStateTest, MarksComeAndGoAndARangeHasTwoEnds) {
  ChartState state;
  state.mark(100, 5);
  state.mark(200, 5);
  EXPECT_EQ(state.marks(), (std::vector<double>{100, 200}));
  state.mark(103, 5);
  EXPECT_EQ(state.marks(), (std::vector<double>{200})) << "the same again takes it away";
  EXPECT_FALSE(state.range());
  state.measure(500);
  EXPECT_TRUE(state.measuring());
  state.stretchRange(300);
  EXPECT_EQ(*state.range(), (TimeWindow{300, 500})) << "in their order";
  state.measure(300);
  EXPECT_FALSE(state.measuring());
  state.stretchRange(900);
  EXPECT_EQ(*state.range(), (TimeWindow{300, 500})) << "it is done";
  EXPECT_TRUE(state.forget());
  EXPECT_FALSE(state.range());
  EXPECT_FALSE(state.forget());
}

TEST(ChartStateTest, RevealingAVisibleTimeMovesNothing) {
  ChartState state;
  const TimeWindow all{0, 1000};
  state.show({100, 200}, all);
  state.reveal(150, all);
  EXPECT_EQ(state.window(), (TimeWindow{100, 200}));
  state.reveal(250, all);
  EXPECT_EQ(state.window(), (TimeWindow{160, 260}));
  state.reveal(50, all);
  EXPECT_EQ(state.window(), (TimeWindow{40, 140}));
}

TEST(RulerTest, WordsTellTicksApartFromHoursToNanoseconds) {
  for (double length = 3.6e12; length > 20; length /= 3)
    for (const double begin : {0.0, 3.211e9, 7.1e12}) {
      const WindowScale scale{{begin, begin + length}, 0, 1500};
      const auto ticks = rulerTicks(scale, 0);
      ASSERT_GE(ticks.size(), 3u) << length;
      std::set<std::string> words;
      for (const RulerTick& tick : ticks) words.insert(tick.label);
      EXPECT_EQ(words.size(), ticks.size()) << begin << " " << length << " " << ticks[1].label;
      for (std::size_t i = 1; i < ticks.size(); ++i)
        EXPECT_GE(ticks[i].x - ticks[i - 1].x, 95) << begin << " " << length;
    }
}

TEST(RulerTest, SaysTimesAsPeopleDo) {
  EXPECT_EQ(describeTime(0, 1e6), "0 ms");
  EXPECT_EQ(describeTime(5e6, 1e6), "5 ms");
  EXPECT_EQ(describeTime(2.5e6, 5e5), "2.5 ms");
  EXPECT_EQ(describeTime(3.211484e9, 1e3), "3.211484 s");
  EXPECT_EQ(describeTime(40, 20), "40 ns");
}

}  // namespace
}  // namespace ringscope::viz
