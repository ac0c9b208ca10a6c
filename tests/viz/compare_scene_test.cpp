// SPDX-License-Identifier: GPL-3.0-or-later
// Two recordings side by side: what stands in which row, and where the rows lead.
#include "viz/views/compare/compare_scene.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/trace_builder.h"
#include "tests/viz/recorded_ring.h"
#include "tests/viz/ring_runs.h"
#include "traces/analysis/compare/report.h"
#include "traces/analysis/doctor/diagnosis.h"

namespace ringscope::viz {
namespace {

using test::recordedTrace;
using test::RingRun;

ComparedRuns compared(const traces::Trace& run, const traces::Trace& other,
                      const traces::Trace* floor = nullptr) {
  return {{"runs/a.rscope", ""}, {"runs/b.rscope", ""}, traces::compareRuns(run, other, floor)};
}
CompareScene sceneOf(const ComparedRuns& runs, const std::set<std::string>& turned = {}) {
  return makeCompareScene(runs, false, 0, turned);
}
const CostRow& cost(const CompareScene& scene, const std::string& name) {
  const auto at = std::ranges::find(scene.costs, name, &CostRow::name);
  if (at == scene.costs.end()) throw std::out_of_range("no row " + name);
  return *at;
}
const PlaceRow& place(const CompareScene& scene, const std::string& name) {
  const auto at = std::ranges::find(scene.places, name, &PlaceRow::name);
  if (at == scene.places.end()) throw std::out_of_range("no row " + name);
  return *at;
}

TEST(CompareSceneTest, HeadTailAgainstNoneHasTheWorkRatioOfThePlan) {
  const auto scene =
      sceneOf(compared(*recordedTrace(RingRun()), *recordedTrace(test::contiguous())));
  EXPECT_EQ(scene.settings, std::vector<std::string>{R"(balance: "head_tail" against "none")"});
  EXPECT_EQ(cost(scene, "balance").a, "100 %");
  EXPECT_EQ(cost(scene, "balance").b, "57 %");
  const auto pairs = cost(scene, "pairs per head, busiest rank");
  EXPECT_EQ(pairs.a, "2,064") << "a quarter of 128 · 129 / 2 pairs";
  EXPECT_EQ(pairs.b, "3,600") << "32 · 96 before its own block, and half of that";
  EXPECT_EQ(pairs.ratio, "0.573×");
}

TEST(CompareSceneTest, AnEqualRunHasNoSettingAndNoPlaceThatDiffers) {
  const auto run = recordedTrace(RingRun());
  const auto scene = sceneOf(compared(*run, *recordedTrace(RingRun())));
  EXPECT_EQ(scene.settings, std::vector<std::string>{"none of those that are recorded"});
  EXPECT_EQ(scene.verdict, Agreement::kSame);
  for (const PlaceRow& row : scene.places) {
    EXPECT_EQ(row.agreement, Agreement::kSame) << row.sentence;
    EXPECT_TRUE(row.heads ? !row.open : row.alone) << "nothing to see inside " << row.name;
  }
}

TEST(CompareSceneTest, ListsTheDoctorsFindingsOnTheSecondRunSeparately) {
  RingRun wrong;
  wrong.restarts_positions = true;
  const auto right = recordedTrace(RingRun()), mistaken = recordedTrace(wrong);
  auto runs = compared(*right, *mistaken);
  tellDiagnosis(traces::diagnose(*mistaken), runs.other);
  auto scene = sceneOf(runs);
  ASSERT_FALSE(scene.doctor.empty());
  EXPECT_TRUE(scene.doctor_finds);
  EXPECT_EQ(scene.doctor[0].find("▲ Position ids restart on every rank. "), 0u) << scene.doctor[0];
  EXPECT_NE(scene.doctor[0].find("(missing_position_ids, certain)"), std::string::npos);
  runs.other = {};
  tellDiagnosis(traces::diagnose(*right), runs.other);
  scene = sceneOf(runs);
  EXPECT_FALSE(scene.doctor_finds);
  ASSERT_EQ(scene.doctor.size(), 1u);
  EXPECT_EQ(scene.doctor[0].find(traces::headline(traces::diagnose(*right)) + " · "), 0u)
      << scene.doctor[0];
}

/// Restarting positions come first. Their consequences also contain differences by the order of
/// additions.
TEST(CompareSceneTest, ThePlaceOfTheFirstDifferenceIsOpenAndLeadsThere) {
  RingRun wrong;
  wrong.restarts_positions = true;
  const auto runs = compared(*recordedTrace(wrong), *recordedTrace(RingRun()));
  const auto scene = sceneOf(runs);
  EXPECT_EQ(scene.verdict, Agreement::kDiffers) << "position ids have no rounding";
  EXPECT_TRUE(place(scene, "inputs").open);
  const PlaceRow& positions = place(scene, "shard: position_ids");
  EXPECT_TRUE(positions.first);
  EXPECT_EQ(positions.sentence, traces::describeFully(*runs.comparison.first()))
      << "as the command says it";
  const Cursor to = cursorAt(positions.place, positions.tensor, positions.rank, Cursor());
  EXPECT_EQ(to.tensor, "buffer.position_ids");
  EXPECT_EQ(to.rank, positions.rank);
}

TEST(CompareSceneTest, PositionIdsStandUnderEachOtherInGlobalOrder) {
  const auto part = [](const char* rank, const char* tokens, const char* values) {
    return std::string("shard input_ids rank=") + rank + " tokens=" + tokens +
           "\ntensor position_ids rank=" + rank + " shape=1x2 values=" + values + "\n";
  };
  const std::string mesh = "run cp=2 seq_len=4\ngroup cp 0,1\n";
  const auto right = test::makeTrace(mesh + part("0", "0-1,3-4", "0,3") + part("1", "1-3", "1,2"));
  const auto wrong = test::makeTrace(mesh + part("0", "0-2", "0,1") + part("1", "2-4", "0,1"));
  const auto scene = sceneOf(compared(*right, *wrong));
  const auto run = [](std::int64_t token, int rank, std::int64_t begin, std::int64_t end,
                      bool differs) {
    return HeldRun{token, WorldRank::of(rank), {end - begin + 1, begin, end, 0, differs}};
  };
  EXPECT_EQ(scene.positions_a,
            (std::vector<HeldRun>{run(0, 0, 0, 0, false), run(1, 1, 1, 1, false),
                                  run(2, 1, 2, 2, false), run(3, 0, 3, 3, false)}))
      << "a run ends where the other begins to differ";
  EXPECT_EQ(scene.positions_b,
            (std::vector<HeldRun>{run(0, 0, 0, 1, false), run(2, 1, 0, 1, true)}));
  EXPECT_TRUE(sceneOf(compared(*right, *right)).positions_a.empty());
}

constexpr const char* kRun =
    "run cp=1 seq_len=2\ngroup cp 0\nshard q rank=0 dim=2 tokens=0-2\nnote step.0 {\"loss\": 2}\n";
std::shared_ptr<traces::Trace> withOut(const std::string& values) {
  std::string text = kRun;
  for (const char* layer : {"0", "1"})
    for (const char* tensor : {"q", "k", "v", "out"})
      text += std::string("tensor ") + tensor + " rank=0 layer=" + layer +
              " shape=1x1x2x1 values=" +
              (std::string(layer) == "1" && std::string(tensor) == "out" ? values : "1,2") + "\n";
  return test::makeTrace(text);
}

TEST(CompareSceneTest, WithoutAFloorADifferenceIsNeitherRightNorWrong) {
  const auto run = withOut("1,2.5"), other = withOut("1,2"), again = withOut("1,2.6");
  const auto unknown = sceneOf(compared(*run, *other));
  EXPECT_EQ(place(unknown, "out").agreement, Agreement::kUnknown);
  EXPECT_EQ(unknown.verdict, Agreement::kUnknown);
  const auto within = sceneOf(compared(*run, *other, again.get()), {"layer 1 · forward"});
  EXPECT_EQ(place(within, "out").agreement, Agreement::kRounding);
  EXPECT_EQ(place(within, "out").size.substr(0, 4), "≈ ");
  EXPECT_EQ(sceneOf(compared(*again, *other, run.get())).verdict, Agreement::kDiffers);
  EXPECT_EQ(sceneOf(compared(*run, *other, other.get())).verdict, Agreement::kUnknown)
      << "equal runs that are bit for bit the same say nothing of another order of adding";
}

TEST(CompareSceneTest, PlacesAreOpenedAndClosed) {
  const auto runs = compared(*withOut("1,3"), *withOut("1,2"));
  const auto names = [&](const std::set<std::string>& turned) {
    std::vector<std::string> all;
    for (const PlaceRow& row : sceneOf(runs, turned).places) all.push_back(row.name);
    return all;
  };
  EXPECT_EQ(names({}), (std::vector<std::string>{"layer 0 · forward", "layer 1 · forward", "q", "k",
                                                 "v", "out", "loss"}));
  EXPECT_EQ(names({"layer 1 · forward"}),
            (std::vector<std::string>{"layer 0 · forward", "layer 1 · forward", "loss"}));
  EXPECT_EQ(place(sceneOf(runs), "layer 1 · forward").where, "1 of 4 differs");
}

TEST(CompareSceneTest, TheNextDifferenceIsFoundAlongTheWayAndRoundAgain) {
  const auto runs = compared(*withOut("1,3"), *withOut("1,2"));
  const auto scene = sceneOf(runs);
  const auto* first = differenceAfter(runs.comparison, 0, nullptr);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->tensor, "out");
  EXPECT_EQ(differenceAfter(runs.comparison, 0, &place(scene, "q")), first);
  EXPECT_EQ(differenceAfter(runs.comparison, 0, &place(scene, "loss")), first);
  EXPECT_EQ(differenceAfter(compared(*withOut("1,2"), *withOut("1,2")).comparison, 0, nullptr),
            nullptr);
}

TEST(CompareSceneTest, ReportsAStepThatOneRunLacks) {
  const auto scene = makeCompareScene(compared(*withOut("1,3"), *withOut("1,2")), false, 7, {});
  EXPECT_TRUE(scene.places.empty());
  EXPECT_EQ(scene.no_places,
            "Of training step 7 both recordings have no tensor and no number in common.");
}

TEST(CompareSceneTest, TheCardsSayWhichIsBeforeAndWhichAfterAWhatIf) {
  const auto scene = makeCompareScene(compared(*withOut("1,3"), *withOut("1,2")), true, 0, {});
  EXPECT_EQ(scene.a.name, "after · a.rscope");
  EXPECT_EQ(scene.b.name, "before · b.rscope");
  EXPECT_EQ(scene.a.numbers, "loss 2");
}

}  // namespace
}  // namespace ringscope::viz
