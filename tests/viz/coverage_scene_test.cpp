// SPDX-License-Identifier: GPL-3.0-or-later
// Checks the coverage of tokens under every strategy, balance and mask.
#include "viz/views/coverage/coverage_scene.h"

#include <gtest/gtest.h>

#include "tests/viz/indexed_trace.h"
#include "tests/viz/recorded_ring.h"
#include "tests/viz/ring_runs.h"
#include "viz/views/compare/run_summary_scene.h"

namespace ringscope::viz {
namespace {

using test::forwardAt;
using test::IndexedTrace;
using test::RingRun;
using traces::Direction;

CoverageScene coverageAt(const IndexedTrace& sample, const Place& place) {
  return makeCoverageScene(*sample.trace, IndexedTrace::at(place));
}

/// Returns the scene at the last ring step of a layer's pass.
CoverageScene atTheEnd(const IndexedTrace& sample, Direction direction = Direction::kForward) {
  Place place = test::placeAt(0, 0, direction, 0);
  place.stage = RingStep::of(countRingSteps(*sample.trace, place, {WorldRank::of(0)})).previous();
  return coverageAt(sample, place);
}

RingRun eventsOnly(RingRun run) {
  run.keeps_tensors = false;
  run.steps = run.layers = 1;
  return run;
}

CoverageScene atTheEnd(const RingRun& run) {
  return atTheEnd(IndexedTrace(test::recordedTrace(eventsOnly(run))));
}

TEST(CoverageSceneTest, FillsStepByStepUntilEveryPairWasAttendedOnce) {
  const IndexedTrace sample(test::recordedTrace(eventsOnly({})));
  double before = 0;
  for (int step = 0; step < 4; ++step) {
    const CoverageScene scene = coverageAt(sample, forwardAt(0, step));
    double attended = 0;
    for (const PairCell& cell : scene.cells) attended += cell.attended;
    EXPECT_GT(attended, before);
    before = attended;
    EXPECT_EQ(scene.complete, step == 3);
    EXPECT_FALSE(scene.faulty());
  }
  const CoverageScene whole = coverageAt(sample, forwardAt(0, 3));
  EXPECT_EQ(before, 128 * 129 / 2);
  EXPECT_EQ(whole.chunks, 8);
  EXPECT_DOUBLE_EQ(whole.efficiency(), 1.0);
  EXPECT_EQ(whole.pairPainters(5, 1), std::vector{WorldRank::of(2)});
  EXPECT_EQ(whole.at(5, 1).ring_step, RingStep::of(1));
  EXPECT_EQ(describe(whole), "✓ every pair of the mask attended exactly once");
}

TEST(CoverageSceneTest, EveryStrategyBalanceAndMaskIsCoveredOnceInBothDirections) {
  for (const auto& [name, run] : test::allKindsOfRuns()) {
    const IndexedTrace sample(test::recordedTrace(eventsOnly(run)));
    for (const auto direction : {Direction::kForward, Direction::kBackward}) {
      const CoverageScene scene = atTheEnd(sample, direction);
      EXPECT_EQ(scene.note, "") << name;
      EXPECT_TRUE(scene.complete) << name;
      EXPECT_EQ(describe(scene), "✓ every pair of the mask attended exactly once") << name;
      EXPECT_EQ(scene.work_done, scene.work_total) << name << ": what was planned was done";
    }
  }
}

TEST(CoverageSceneTest, DocumentsWantNoPairAcrossTheirBorders) {
  const CoverageScene scene = atTheEnd(test::packed());
  EXPECT_EQ(scene.chunks, 8);
  EXPECT_TRUE(scene.at(7, 0).masked());
  EXPECT_FALSE(scene.at(3, 2).masked()) << "tokens 48 to 64 and 32 to 48 share a document";
  EXPECT_EQ(describePair(scene, 7, 0), "query chunk 7 × key chunk 0: masked");
}

TEST(CoverageSceneTest, NamesTheRanksThatShareHeadsForEachPair) {
  RingRun run = test::sharingHeads(2);
  run.steps = run.layers = 1;
  const CoverageScene scene = atTheEnd(IndexedTrace(test::recordedTrace(run)));
  EXPECT_EQ(scene.chunks, 8) << "cut where the ranks' own shards were cut";
  EXPECT_EQ(scene.heads_shared_by, 2);
  EXPECT_EQ(scene.pairPainters(7, 0), (std::vector{WorldRank::of(0), WorldRank::of(1)}));
  EXPECT_EQ(describePair(scene, 7, 0),
            "query chunk 7 × key chunk 0: attended by ranks 0, 1, each for its heads, at ring "
            "step 0");
}

TEST(CoverageSceneTest, CountsWorkInPairsForChunksOfAnySize) {
  const CoverageScene scene = atTheEnd(test::contiguous());
  // Rank r attends 32 rows to 32·r keys before its own, and half of its own square.
  for (int r = 0; r < 4; ++r)
    EXPECT_EQ(scene.work_total[static_cast<std::size_t>(r)], 32 * 32 * r + 32 * 33 / 2);
  ASSERT_TRUE(scene.contiguous);
  EXPECT_NEAR(scene.efficiency(), *scene.contiguous, 1e-9);
}

TEST(CoverageSceneTest, ComparesWithContiguousShardsOnlyUnderACausalMask) {
  EXPECT_NEAR(*atTheEnd({}).contiguous, atTheEnd(test::contiguous()).efficiency(), 1e-9);
  RingRun window = test::contiguous();
  window.mask = traces::MaskKind::kWindow;
  window.window = 20;
  EXPECT_FALSE(atTheEnd(window).contiguous);
}

TEST(RunSummaryTest, TheBalanceIsThatOfCoverageWhateverTimeThreadsTook) {
  for (const auto& [name, run] : test::allKindsOfRuns()) {
    const auto trace = test::recordedTrace(eventsOnly(run));
    const auto balance = runSummary(*trace, 0).balance;
    ASSERT_TRUE(balance) << name;
    EXPECT_DOUBLE_EQ(*balance, atTheEnd(IndexedTrace(trace)).efficiency()) << name;
  }
}

/// Returns a recording with the records that `keep` has let through or changed.
template <typename Keep>
IndexedTrace changed(const RingRun& run, Keep keep) {
  const auto whole = test::recordedTrace(eventsOnly(run));
  auto part = std::make_shared<traces::Trace>();
  for (const auto& group : whole->groups()) part->add(group);
  for (const auto& schedule : whole->schedules()) part->add(schedule);
  for (const auto& intent : whole->intents())
    if (keep(intent)) part->add(intent);
  for (int rank = 0; rank < whole->worldSize(); ++rank)
    for (traces::Event event : whole->events(WorldRank::of(rank)))
      if (keep(event)) part->add(std::span<const traces::Event>(&event, 1));
  return IndexedTrace(part);
}

/// Reports whether rank 2 attends the block of rank 1 in an event.
bool isChosen(const traces::Event& event) {
  return event.kind == traces::EventKind::kAttend && event.rank == WorldRank::of(2) &&
         event.source_rank == WorldRank::of(1) && event.place.direction == Direction::kForward;
}

struct KeepAll {
  bool operator()(const traces::IntentRecord&) const { return true; }
};
struct DropsOne : KeepAll {
  using KeepAll::operator();
  bool operator()(const traces::Event& event) const { return !isChosen(event); }
};
struct HalvesOne : KeepAll {
  using KeepAll::operator();
  bool operator()(traces::Event& event) const {
    if (isChosen(event)) event.q_end -= 8;
    return true;
  }
};
struct WidensOne : KeepAll {
  using KeepAll::operator();
  bool operator()(traces::Event& event) const {
    if (isChosen(event)) event.k_end = 32;
    return true;
  }
};
struct ForgetsTheIntent {
  bool operator()(const traces::IntentRecord&) const { return false; }
  bool operator()(const traces::Event&) const { return true; }
};

TEST(CoverageSceneTest, ReportsMissingPairsAndPairsOutsideTheMask) {
  EXPECT_EQ(describe(atTheEnd(changed({}, DropsOne()))), "▲ 2 never attended");
  EXPECT_EQ(describe(atTheEnd(changed({}, HalvesOne()))), "▲ 2 attended in part")
      << "one of each query chunk";
  const CoverageScene wide = atTheEnd(changed({}, WidensOne()));
  EXPECT_EQ(describe(wide), "▲ 2 outside the mask") << "keys of chunk 6 for queries 2 and 5";
  EXPECT_EQ(describePair(wide, 5, 6),
            "query chunk 5 × key chunk 6: attended by rank 2 at ring step 1: 256 pairs where the "
            "mask has 0");
}

struct StopsBeforeTheEnd : KeepAll {
  using KeepAll::operator();
  bool operator()(const traces::Event& event) const {
    return event.place.direction == Direction::kForward &&
           (event.rank != WorldRank::of(2) || event.place.stage.value() < 3);
  }
};
struct HasItAll : KeepAll {
  using KeepAll::operator();
  bool operator()(const traces::Event& event) const {
    return event.place.direction == Direction::kForward;
  }
};

TEST(CoverageSceneTest, PairsThatARankHasYetToAttendAreNotMissing) {
  const CoverageScene growing = atTheEnd(changed({}, StopsBeforeTheEnd()));
  EXPECT_FALSE(growing.complete);
  EXPECT_EQ(describe(growing), "filling; nothing twice so far");
  EXPECT_EQ(describe(atTheEnd(changed({}, HasItAll()))),
            "✓ every pair of the mask attended exactly once");
}

TEST(CoverageSceneTest, WithoutTheIntentNothingIsCalledMissingOrUnwanted) {
  const CoverageScene scene = atTheEnd(changed(test::packed(), ForgetsTheIntent()));
  EXPECT_FALSE(scene.faulty());
  EXPECT_NE(describe(scene).find("is not recorded"), std::string::npos);
  EXPECT_NE(describe(scene).find("would show it"), std::string::npos);
}

TEST(CoverageSceneTest, WithoutSchedulesItSaysWhatWouldShowThem) {
  const auto whole = test::recordedTrace(eventsOnly({}));
  auto part = std::make_shared<traces::Trace>();
  for (int rank = 0; rank < 4; ++rank)
    for (const traces::Event& event : whole->events(WorldRank::of(rank)))
      part->add(std::span<const traces::Event>(&event, 1));
  const CoverageScene scene = coverageAt(IndexedTrace(part), forwardAt(0, 1));
  EXPECT_EQ(scene.chunks, 0);
  EXPECT_NE(scene.note.find("not recorded"), std::string::npos) << scene.note;
  EXPECT_NE(scene.note.find("--trace would show it"), std::string::npos) << scene.note;
  EXPECT_EQ(describe(scene), scene.note);
  EXPECT_FALSE(runSummary(*part, 0).balance);
}

}  // namespace
}  // namespace ringscope::viz
