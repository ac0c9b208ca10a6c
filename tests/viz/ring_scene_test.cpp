// SPDX-License-Identifier: GPL-3.0-or-later
// The content and the texts of a ring step's scene.
#include <gtest/gtest.h>

#include "tests/viz/indexed_trace.h"
#include "tests/viz/recorded_ring.h"
#include "tests/viz/ring_runs.h"
#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "viz/scene/why_empty.h"
#include "viz/views/inspector/inspector_scene.h"

namespace ringscope::viz {
namespace {

using test::backwardAt;
using test::forwardAt;
using test::IndexedTrace;
using test::RingRun;

IndexedTrace oneStep(RingRun run) {
  run.steps = run.layers = 1;
  return IndexedTrace(test::recordedTrace(run));
}

std::string toSentence(const RingRun& run, const Place& place, int rank) {
  RingRun events_only = run;
  events_only.keeps_tensors = false;
  return oneStep(events_only).ring(place, rank).sentence;
}

std::vector<WorldRank> ranks(std::initializer_list<int> numbers) {
  std::vector<WorldRank> list;
  for (const int number : numbers) list.push_back(WorldRank::of(number));
  return list;
}

TEST(WhyEmptyTest, AStageThatWasPlannedToAttendDoesNotForTheMask) {
  const auto why = [](std::initializer_list<traces::WhyEmpty> reasons) {
    std::vector<traces::StageRecord> stages(reasons.size());
    std::vector<const traces::StageRecord*> all;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      stages[i].why_empty = reasons.begin()[i];
      all.push_back(&stages[i]);
    }
    return whyAllEmpty(all);
  };
  using traces::WhyEmpty;
  EXPECT_EQ(why({WhyEmpty::kFuture, WhyEmpty::kFuture}), WhyEmpty::kFuture);
  EXPECT_EQ(why({WhyEmpty::kFuture, WhyEmpty::kOutOfWindow}), WhyEmpty::kSeveralReasons);
  EXPECT_EQ(why({WhyEmpty::kFuture, WhyEmpty::kAttends}), WhyEmpty::kAttends);
  EXPECT_EQ(why({WhyEmpty::kAttends, WhyEmpty::kOutOfWindow}), WhyEmpty::kAttends);
}

TEST(RingSceneTest, ShowsWhatEachRankHoldsAttendsAndSends) {
  const IndexedTrace sample = oneStep({});
  const RingScene scene = sample.ring(forwardAt(0, 1));
  ASSERT_EQ(scene.ranks.size(), 4u);
  EXPECT_EQ(scene.ring_steps, 4);
  EXPECT_EQ(scene.chunk_count, 8);
  for (int r = 0; r < 4; ++r) {
    const RankScene& rank = scene.ranks[static_cast<std::size_t>(r)];
    EXPECT_EQ(rank.held_source, WorldRank::of((r + 3) % 4));
    EXPECT_EQ(rank.chunks, (std::vector<int>{r, 7 - r}));
    EXPECT_TRUE(rank.lseRises());
    EXPECT_GT(rank.lse_after.mean, rank.lse_before.mean);
  }
  EXPECT_EQ(scene.ranks[0].attending, "queries 7 × keys 3, 4");
  EXPECT_EQ(scene.ranks[2].attending, "queries 2, 5 × keys 1");
  EXPECT_EQ(scene.packets.size(), 4u);
  for (const auto& packet : scene.packets) {
    EXPECT_EQ(packet.to.value(), (packet.from.value() + 1) % 4);
    EXPECT_EQ(packet.source_rank.value(), (packet.from.value() + 3) % 4);
    EXPECT_GE(packet.end - packet.begin, kShortestHop - 1e-9);
    EXPECT_LE(packet.end, 1.0 + 1e-9);
  }
  EXPECT_NE(scene.sentence.find("rank 0 attends its 16 queries to block 3"), std::string::npos)
      << scene.sentence;
  EXPECT_NE(scene.sentence.find("rises from"), std::string::npos) << scene.sentence;
  EXPECT_EQ(scene.ringsText(), "");
}

TEST(RingSceneTest, AHopWhoseMessagesWerePostedSinglySaysWhichCameFirst) {
  RingRun run;
  EXPECT_EQ(toSentence(run, forwardAt(0, 1), 0).find("posts"), std::string::npos);
  run.ordered_hops = true;
  EXPECT_NE(toSentence(run, forwardAt(0, 1), 0).find("; it posts its send, then its receive"),
            std::string::npos);
  EXPECT_NE(toSentence(run, forwardAt(0, 1), 1).find("; it posts its receive, then its send"),
            std::string::npos);
  EXPECT_EQ(toSentence(run, forwardAt(0, 3), 1).find("posts"), std::string::npos)
      << "the last block goes nowhere";
}

TEST(RingSceneTest, WhileTheRanksOfARingAreNotAllRecordedNoneIsShown) {
  const auto whole = test::recordedTrace({});
  const auto part = std::make_shared<traces::Trace>();
  const auto take = [&](int rank) {
    for (const traces::Event& event : whole->events(WorldRank::of(rank)))
      part->add(std::span<const traces::Event>(&event, 1));
  };
  const auto cursor = IndexedTrace::at(forwardAt(0, 0));
  take(0);
  EXPECT_NE(makeRingScene(*part, cursor, true).note.find("is starting"), std::string::npos)
      << "rank 0 is no ring";
  for (const auto& group : whole->groups()) part->add(group);
  EXPECT_NE(makeRingScene(*part, cursor, true).note, "");
  for (int rank = 1; rank < whole->worldSize(); ++rank) take(rank);
  EXPECT_EQ(makeRingScene(*part, cursor, true).note, "");
}

TEST(RingSceneTest, BackwardCarriesGradientsBesideTheBlocks) {
  const RingScene scene = oneStep({}).ring(backwardAt(0, 3));
  int kv = 0, dkv = 0;
  for (const auto& packet : scene.packets)
    (packet.payload == traces::Payload::kDkv ? dkv : kv) += 1;
  EXPECT_EQ(kv, 0) << "the last block goes nowhere";
  EXPECT_EQ(dkv, 4) << "the last hop brings dK and dV home";
  for (const auto& packet : scene.packets) EXPECT_EQ(packet.source_rank, packet.to);
  EXPECT_EQ(scene.sentence, "rank 0 adds to dK and dV of block 1; dQ of its 16 queries stays");
}

TEST(RingSentenceTest, SaysWhichKeysAreAttendedAndHow) {
  EXPECT_EQ(toSentence({}, forwardAt(0, 0), 2),
            "rank 2 attends its 32 queries to its own block 2, causally");
  EXPECT_EQ(toSentence({}, forwardAt(0, 1), 2),
            "rank 2 attends its 32 queries to the first half of block 1");
  EXPECT_EQ(toSentence({}, forwardAt(0, 1), 0), "rank 0 attends its 16 queries to block 3");
  const RingRun window = test::withMask(traces::MaskKind::kWindow, 20);
  EXPECT_EQ(toSentence(window, forwardAt(0, 0), 2),
            "rank 2 attends its 32 queries to its own block 2, within a window of 20");
  EXPECT_EQ(toSentence(test::packed(), forwardAt(0, 0), 2),
            "rank 2 attends its 32 queries to its own block 2, within its documents");
  RingRun striped;
  striped.balance = traces::Balance::kStriped;
  EXPECT_EQ(toSentence(striped, forwardAt(0, 1), 2),
            "rank 2 attends its 32 queries to block 1, causally");
}

TEST(RingSentenceTest, TheLastBlockOfContiguousShardsIsNamedAndWhyItIsNotAttended) {
  EXPECT_EQ(toSentence(test::contiguous(), forwardAt(0, 1), 0),
            "rank 0 passes block 3 on; all of its keys lie in these queries’ future");
  EXPECT_EQ(toSentence(test::contiguous(), forwardAt(0, 3), 0),
            "rank 0 holds block 1 and attends none of it; all of its keys lie in these queries’ "
            "future");
}

TEST(RingSentenceTest, KeysOutOfTheWindowAndOfOtherDocumentsAreNotCalledFuture) {
  RingRun window = test::contiguous();
  window.mask = traces::MaskKind::kWindow;
  window.window = 20;
  EXPECT_EQ(toSentence(window, forwardAt(0, 2), 3),
            "rank 3 passes block 1 on; its keys that are not in the future have left the window");
  RingRun packed = test::packed();
  packed.balance = traces::Balance::kNone;
  packed.documents = {{0, 32}, {32, 128}};
  EXPECT_EQ(toSentence(packed, forwardAt(0, 1), 1),
            "rank 1 passes block 0 on; its keys in reach belong to other documents");
  packed.documents = {{0, 60}, {60, 128}};
  packed.window = 8;
  EXPECT_EQ(toSentence(packed, forwardAt(0, 1), 2),
            "rank 2 attends its 7 queries to 4 of the 32 keys of block 1, within its documents, "
            "within a window of 8");
}

TEST(RingSentenceTest, AGatherNamesTheAttendedBlocksAmongThosePresent) {
  RingRun run = test::gathering();
  run.balance = traces::Balance::kNone;
  EXPECT_EQ(toSentence(run, forwardAt(0, 0), 2),
            "rank 2 attends its 32 queries to blocks 0–2 of the 4 gathered");
  EXPECT_EQ(toSentence(run, forwardAt(0, 0), 0),
            "rank 0 attends its 32 queries to its own block 0, causally");
  EXPECT_EQ(toSentence(run, backwardAt(0, 0), 1),
            "rank 1 adds to dK and dV of blocks 0, 1; dQ of its 32 queries stays");
}

TEST(RingSentenceTest, WithSharedHeadsItSaysWhoseQueriesAndWhichHeads) {
  EXPECT_EQ(toSentence(test::sharingHeads(4), forwardAt(0, 0), 1),
            "rank 1 attends the 128 queries of ranks 0–3, for head 1, to its own block 1, "
            "causally");
  const RingScene hybrid = oneStep(test::sharingHeads(2)).ring(forwardAt(0, 1), 3);
  EXPECT_EQ(hybrid.sentence.find("rank 3 attends the 64 queries of ranks 2, 3, for heads 2–3, to "),
            0u)
      << hybrid.sentence;
  EXPECT_EQ(hybrid.rings, (std::vector{ranks({0, 2}), ranks({1, 3})}));
  EXPECT_EQ(hybrid.ringsText(), "2 rings: ranks 0, 2 · ranks 1, 3");
  EXPECT_EQ(hybrid.ring_steps, 2);
  EXPECT_EQ(hybrid.ranks[3].held_source, WorldRank::of(1));
  EXPECT_EQ(hybrid.ranks[3].chunks, (std::vector<int>{3, 4})) << "that it owns itself";
}

TEST(RingSentenceTest, ACardAndTheSentenceGiveTheSameReason) {
  const RingScene scene = oneStep(test::contiguous()).ring(forwardAt(0, 1));
  EXPECT_EQ(scene.ranks[0].attending, "attends nothing: all in the future");
  EXPECT_EQ(scene.ranks[0].idle, "all in the future");
  for (int why = 0; why < static_cast<int>(traces::WhyEmpty::kCount); ++why) {
    EXPECT_NE(emptyWords(static_cast<traces::WhyEmpty>(why)).brief, nullptr);
    EXPECT_NE(emptyWords(static_cast<traces::WhyEmpty>(why)).clause, nullptr);
  }
}

TEST(RingSceneTest, TensorsAreNotNeededToKnowWhatIsAttended) {
  RingRun run;
  run.keeps_tensors = false;
  const RingScene scene = oneStep(run).ring(forwardAt(0, 1));
  EXPECT_EQ(scene.ranks[2].attending, "queries 2, 5 × keys 1");
  EXPECT_FALSE(scene.ranks[2].lse_after.known());
}

TEST(RingSceneTest, WithoutSchedulesItSaysWhatItSeesAndWhatIsNotRecorded) {
  const auto whole = oneStep(RingRun());
  auto part = std::make_shared<traces::Trace>();
  for (int rank = 0; rank < 4; ++rank)
    for (const traces::Event& event : whole.trace->events(WorldRank::of(rank)))
      part->add(std::span<const traces::Event>(&event, 1));
  const RingScene scene = IndexedTrace(part).ring(forwardAt(0, 1));
  EXPECT_EQ(scene.ranks[2].attending, "32 query rows × block 1");
  EXPECT_EQ(scene.ranks[2].held_source, WorldRank::of(1));
  EXPECT_NE(scene.sentence.find("rank 0 attends its 16 queries to block 3; which rows and keys"),
            std::string::npos)
      << scene.sentence;
  EXPECT_NE(scene.sentence.find("--trace would show it"), std::string::npos) << scene.sentence;
}

TEST(RingSceneTest, WaitsForSumsAreShownBesideThoseForBlocks) {
  const auto sample = oneStep(RingRun());
  traces::Event wait;
  wait.kind = traces::EventKind::kWait;
  wait.payload = traces::Payload::kDkv;
  wait.place = backwardAt(0, 1);
  wait.rank = WorldRank::of(0);
  wait.begin_ns = 500'000;
  wait.end_ns = 500'700;
  sample.trace->add(std::span<const traces::Event>(&wait, 1));
  const RankScene rank = IndexedTrace(sample.trace).ring(backwardAt(0, 1)).ranks[0];
  EXPECT_EQ(rank.sums_wait_ns, 700);
  EXPECT_GT(rank.wait_ns, 0);
  EXPECT_LT(rank.window.end_ns, 500'000) << "the work of the ring step was over before";
}

InspectorScene inspected(const IndexedTrace& sample, const Place& place, int rank) {
  const RingScene ring = sample.ring(place, rank);
  const traces::WorstDiffs worst;
  const std::optional<traces::Diagnosis> diagnosis;
  return makeInspectorScene(*sample.trace, IndexedTrace::at(place, rank),
                            {ring, worst, diagnosis, std::make_shared<MemorySeries>()});
}

TEST(InspectorSceneTest, HasALineForEachStageAndSaysWhyOneBringsNothing) {
  const InspectorScene scene = inspected(oneStep(test::contiguous()), forwardAt(0, 2), 1);
  ASSERT_EQ(scene.lse.size(), 4u);
  EXPECT_TRUE(scene.lse[0].mean);
  EXPECT_TRUE(scene.lse[1].mean);
  EXPECT_EQ(scene.lse[2].words, "all in the future");
  EXPECT_EQ(scene.lse[2].source_rank, WorldRank::of(3));
  EXPECT_EQ(scene.lse[3].words, "to come");
  const InspectorScene gathered = inspected(oneStep(test::gathering()), forwardAt(0, 0), 0);
  ASSERT_EQ(gathered.lse.size(), 4u) << "all at one ring step";
  for (const LseLine& line : gathered.lse) EXPECT_TRUE(line.mean) << line.words;
  EXPECT_EQ(gathered.running_lse.rows, 4 * 32);
}

TEST(InspectorSceneTest, TheMeanOfABlockIsOverAllOfItsPieces) {
  const auto sample = oneStep(test::withMask(traces::MaskKind::kWindow, 20));
  const Place place = forwardAt(0, 0);
  const InspectorScene scene = inspected(sample, place, 1);
  double sum = 0;
  std::int64_t rows = 0;
  for (const auto* block :
       sample.trace->tensorsAt({traces::TensorKind::kBlockLse}, place, WorldRank::of(1))) {
    const auto values = *sample.trace->values(*block);
    for (const double v : values) sum += v;
    rows += std::ssize(values);
  }
  ASSERT_TRUE(scene.lse[0].mean);
  EXPECT_NEAR(*scene.lse[0].mean, sum / static_cast<double>(rows), 1e-9);
}

}  // namespace
}  // namespace ringscope::viz
