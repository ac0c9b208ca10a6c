// SPDX-License-Identifier: GPL-3.0-or-later
// Scenes of recordings of a few lines, each with something that random runs seldom have.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/trace_builder.h"
#include "tests/viz/indexed_trace.h"
#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "viz/scene/meant.h"
#include "viz/scene/run_words.h"
#include "viz/views/diff/diff_scene.h"
#include "viz/views/doctor/doctor_scene.h"
#include "viz/views/inspector/inspector_scene.h"
#include "viz/views/memory/memory_law_scene.h"
#include "viz/views/memory/memory_scene.h"
#include "viz/views/merge/merge_scene.h"

namespace ringscope::viz {
namespace {

using test::firstStep;
using traces::PieceMask;
using traces::PieceRecord;

/// Returns one rank that attends pieces of its own block of `tokens` in the only stage of layer 0.
std::shared_ptr<traces::Trace> attending(const std::vector<PieceRecord>& pieces,
                                         std::int64_t tokens, const std::string& more = "") {
  std::string text = "group cp 0\nintent mask=causal\n" + more;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const PieceRecord& p = pieces[i];
    text += "attend rank=0 layer=0 stage=0 source=0 time=10-20 piece=" + std::to_string(i) +
            " mask=" + traces::name(p.mask) + " q=" + std::to_string(p.q_begin) + "-" +
            std::to_string(p.q_end) + " k=" + std::to_string(p.k_begin) + "-" +
            std::to_string(p.k_end) + "\n";
  }
  auto trace = test::makeTrace(text);
  traces::ScheduleRecord schedule;
  schedule.ring = schedule.ulysses = {WorldRank::of(0)};
  schedule.rows = {{0, tokens, 1}};
  schedule.q_head_end = 1;
  schedule.kv_heads = {0};
  traces::StageRecord stage;
  stage.source_rank = WorldRank::of(0);
  stage.pieces = pieces;
  schedule.stages = {stage};
  trace->add(schedule);
  return trace;
}

std::string toSentence(const traces::Trace& trace) {
  return makeRingScene(trace, firstStep()).sentence;
}

TEST(DiffSceneTest, TensorsWithoutAColumnAreListedWithTheRest) {
  const auto trace = test::makeTrace(
      "diff out layer=0 ratio=0.5\ndiff dsinks layer=0 ratio=3\ndiff loss isolated=no ratio=0.1\n"
      "diff q layer=0 isolated=no ratio=0.2\n");
  const DiffScene scene = makeDiffScene(*trace, firstStep(), ErrorUnit::kLimit, false);
  ASSERT_EQ(scene.rest.size(), 2u);
  EXPECT_EQ(scene.rest[0].tensor, "dsinks") << "the worst first";
  EXPECT_TRUE(scene.rest[0].wrong);
  EXPECT_EQ(scene.rest[1].tensor, "loss");
}

/// The packet was posted with the ring step, and moved later.
TEST(RingSceneTest, APacketTravelsFromWhenItMovesAndNotFromWhenItWasPosted) {
  const auto trace = test::makeTrace(
      "group cp 0,1\nattend rank=0 source=0 layer=0 stage=0 time=0-100\n"
      "attend rank=1 source=1 layer=0 stage=0 time=0-100\n"
      "send rank=0 peer=1 source=0 payload=kv layer=0 stage=0 time=0-100 start=40\n");
  const RingScene ring = makeRingScene(*trace, firstStep());
  ASSERT_EQ(ring.packets.size(), 1u);
  EXPECT_DOUBLE_EQ(ring.packets.front().begin, 0.4);
  EXPECT_DOUBLE_EQ(ring.packets.front().end, 1);
  EXPECT_FALSE(ring.packets.front().stretched);
}

TEST(InspectorSceneTest, ShowsTheWorstOfTheStepAndAWorseOneOfTheRun) {
  const auto trace = attending(
      {{0, 2, 0, 2}}, 4,
      "diff out layer=0 ratio=0.5\ndiff dk layer=1 ratio=0.25\ndiff out layer=0 step=7 ratio=3\n"
      "diff loss isolated=no ratio=0.9\ndiff loss isolated=no step=7 ratio=0.1\n");
  const RingScene ring = makeRingScene(*trace, firstStep());
  traces::WorstDiffs worst;
  worst.update(*trace);
  const std::optional<traces::Diagnosis> none;
  const auto scene = makeInspectorScene(
      *trace, firstStep(), {ring, worst, none, std::make_shared<const MemorySeries>(), false});
  ASSERT_EQ(scene.worst.size(), 3u);
  EXPECT_EQ(scene.worst[0],
            (WorstLine{"✓ isolated, worst of step 0 (layer 0, out)", "0.5× limit", false}));
  EXPECT_EQ(scene.worst[1],
            (WorstLine{"▲ isolated, worst of the run (step 7, layer 0, out)", "3.0× limit", true}));
  EXPECT_EQ(scene.worst[2],
            (WorstLine{"✓ end to end, worst of step 0 (loss)", "0.9× limit", false}));
}

TEST(InspectorSceneTest, RowsThatLieInSeveralPiecesCountOnceWithTheSumOfTheirKeys) {
  const auto trace = attending(
      {{0, 2, 0, 2}, {0, 2, 2, 4}}, 4,
      "tensor block_lse rank=0 layer=0 stage=0 source=0 piece=0 shape=1x1x2 values=0,1\n"
      "tensor block_lse rank=0 layer=0 stage=0 source=0 piece=1 shape=1x1x2 values=0,1\n");
  const RingScene ring = makeRingScene(*trace, firstStep());
  const traces::WorstDiffs worst;
  const std::optional<traces::Diagnosis> none;
  const auto scene = makeInspectorScene(
      *trace, firstStep(), {ring, worst, none, std::make_shared<const MemorySeries>(), false});
  ASSERT_EQ(scene.lse.size(), 1u);
  ASSERT_TRUE(scene.lse[0].mean);
  EXPECT_NEAR(*scene.lse[0].mean, 0.5 + std::log(2), 1e-12);
}

TEST(RingSentenceTest, ABlockIsAttendedInPartWhereSomeQueriesDoNotSeeAllOfIt) {
  const PieceRecord early{0, 2, 0, 2}, late{2, 4, 0, 4};
  EXPECT_EQ(toSentence(*attending({early, late}, 4)),
            "rank 0 attends its 4 queries to its own block 0, causally")
      << "each piece is attended whole";
  const PieceRecord wide{0, 4, 0, 4, PieceMask::kTileMask, -9, 9};
  EXPECT_EQ(toSentence(*attending({wide}, 4)), "rank 0 attends its 4 queries to its own block 0")
      << "its mask leaves nothing out";
}

TEST(MergeHistoryTest, ABlockWhoseLseIsNoNumberWasAttendedNevertheless) {
  const auto trace = attending(
      {{0, 1, 0, 1}}, 1,
      "tensor out rank=0 layer=0 shape=1x1x1x1 values=nan\n"
      "tensor lse rank=0 layer=0 shape=1x1x1 values=nan\n"
      "tensor block_out rank=0 layer=0 stage=0 source=0 piece=0 shape=1x1x1x1 values=nan\n"
      "tensor block_lse rank=0 layer=0 stage=0 source=0 piece=0 shape=1x1x1 values=nan\n");
  const MergeScene scene = makeMergeScene(*trace, firstStep(), {0, 0});
  ASSERT_EQ(scene.note, "");
  ASSERT_EQ(scene.history.steps.size(), 1u);
  EXPECT_TRUE(scene.history.steps[0].attended) << scene.history.steps[0].words;
  EXPECT_TRUE(std::isnan(scene.history.steps[0].running_lse));
}

TEST(MemorySceneTest, QuotesTheRecordingAboutMemoryWithoutACategory) {
  const std::string held = "group cp 0\nmemory kv rank=0 bytes=100 time=5\n";
  EXPECT_EQ(makeMemoryScene(*test::makeTrace(held), firstStep()).unseen, "");
  const auto trace = test::makeTrace(held + "note memory.unseen.0 \"all else\"\n");
  EXPECT_EQ(makeMemoryScene(*trace, firstStep()).unseen, "all else");
}

TEST(MemoryLawTest, MemoryTakenAndFreedAtOneInstantIsNotAddedUp) {
  const auto trace = test::makeTrace(
      "attend rank=0 layer=0 stage=0 time=0-20\nmemory kv rank=0 bytes=100 time=5\n"
      "memory activations rank=0 bytes=100 time=10\nmemory kv rank=0 bytes=0 time=10\n");
  EXPECT_EQ(memoryPeak(*trace, WorldRank::of(0)).bytes, 100);
  EXPECT_EQ(memorySeries(*trace, WorldRank::of(0), 8).peak_bytes, 100);
}

/// A run of 100 ns that was held from 20 to 80.
TEST(MemorySeriesTest, TimeInWhichTheRankWasHeldIsLeftOut) {
  const auto trace = test::makeTrace(
      "attend rank=0 layer=0 stage=0 time=0-20\npause rank=0 layer=0 stage=0 time=20-80\n"
      "attend rank=0 layer=0 stage=1 time=80-100\nmemory kv rank=0 bytes=100 time=0\n"
      "memory kv rank=0 bytes=300 time=90\n");
  const auto rank = WorldRank::of(0);
  const auto kv = static_cast<std::size_t>(traces::MemoryCategory::kKv);
  const auto held = [&](const MemorySeries& series) {
    std::vector<std::int64_t> bytes;
    for (const auto& column : series.columns) bytes.push_back(column[kv]);
    return bytes;
  };
  const auto series = memorySeries(*trace, rank, 4, rankPauses(*trace, rank));
  EXPECT_EQ(held(series), (std::vector<std::int64_t>{100, 100, 300, 300})) << "of 10 ns each";
  EXPECT_DOUBLE_EQ(series.fraction(10, trace->endNs()), 0.25);
  EXPECT_DOUBLE_EQ(series.fraction(50, trace->endNs()), 0.5) << "on the fold";
  EXPECT_DOUBLE_EQ(series.fraction(90, trace->endNs()), 0.75);
  EXPECT_EQ(series.instantAt(0.75, trace->endNs()), 90);
  const auto stretched = memorySeries(*trace, rank, 4);
  EXPECT_EQ(held(stretched), (std::vector<std::int64_t>{100, 100, 100, 300})) << "of 25 ns each";
}

TEST(MeantTest, PaddingAfterAFullMaskIsNoKeyOfAnybody) {
  const auto trace = test::makeTrace("intent mask=full documents=0-3\n");
  const Meant meant(*trace, 0, {WorldRank::of(0)});
  EXPECT_EQ(meant.pairs({0, 4, 1}, {0, 4, 1}), 9.0);
  EXPECT_EQ(meant.manner(), ", within its documents");
}

// -------- status

std::string saidOf(const traces::Trace& trace) {
  return runStatus(trace, {traces::WorstDiffs(), std::nullopt, std::nullopt});
}

TEST(RunWordsTest, AFileOfOneRankNamesTheNumberOfAllRanks) {
  const auto trace = test::makeTrace("run cp=4 launch=env cores=2\nattend rank=3 time=0-1\n");
  EXPECT_EQ(saidOf(*trace),
            "recorded · 1 of 4 ranks · 1 event · not compared with unsharded attention");
}

TEST(RunWordsTest, VirtualRanksShareTheCoresOfOneMachine) {
  const std::string ranks = "attend rank=0 time=0-1\nattend rank=1 time=0-1\n";
  const std::string shared = "2 ranks on 1 core (virtual: overlap is the scheduler’s)";
  EXPECT_NE(saidOf(*test::makeTrace("run cp=2 cores=1\n" + ranks)).find(shared), std::string::npos);
  for (const char* run :
       {"run cp=2 cores=2\n", "run cp=2 cores=1 device=cuda\n", "run cp=2 cores=1 launch=env\n"})
    EXPECT_NE(saidOf(*test::makeTrace(run + ranks)).find("recorded · 2 ranks · 2 events"),
              std::string::npos)
        << run << " may be on several machines, or not on cores";
  const std::string env = "run cp=2 cores=1 launch=env\n" + ranks;
  const auto clock = [](const char* boot) {
    return std::string("note clock {\"boot_id\": \"") + boot + "\"}\n";
  };
  EXPECT_NE(saidOf(*test::makeTrace(env + clock("a") + clock("a"))).find(shared),
            std::string::npos);
  EXPECT_EQ(saidOf(*test::makeTrace(env + clock("a") + clock("b"))).find(shared),
            std::string::npos);
}

TEST(RunWordsTest, TheHeadlineNamesTheBalanceThatWasChosen) {
  EXPECT_EQ(runHeadline(*test::makeTrace("run cp=4 mask=causal seq_len=8\n"), false),
            "sample, 1 layer · 8 tokens · 4 ranks · ring, head_tail, causal");
  EXPECT_EQ(runHeadline(*test::makeTrace(""), true), "a run is starting");
}

// -------- mistakes that the doctor cannot judge

std::string evidenceOf(const std::string& text, const std::string& title) {
  const auto scene = makeDoctorScene(traces::diagnose(*test::makeTrace(text)), false);
  for (const FindingCard& card : scene.cards)
    if (card.title.find(title) != std::string::npos) return card.evidence;
  return "there is no card of " + title;
}

TEST(DoctorSceneTest, DataThatCannotTellIsNotCalledUnrecorded) {
  const std::string title = "each rank's position ids";
  EXPECT_EQ(evidenceOf("run cp=2 capture=none\n", title),
            "Not recorded. This needs the values of position_ids and the borders of documents; "
            "--capture stats records them.");
  EXPECT_EQ(evidenceOf("run cp=2 capture=full\n", title),
            "What was recorded cannot tell. This needs the values of position_ids and the borders "
            "of documents.");
  EXPECT_EQ(evidenceOf("run cp=2 command=attend capture=none\n", "Position ids not sharded"),
            "Does not apply: one attention has no training step.");
}

TEST(DoctorSceneTest, FindingsHaveAnExplanationAndClearRulesHaveNone) {
  const auto scene = makeDoctorScene(
      traces::diagnose(*test::makeTrace("run cp=2 mask=full balance=head_tail\n")), false);
  ASSERT_EQ(scene.found, 1);
  for (const FindingCard& card : scene.cards) {
    ASSERT_EQ(card.explanation.has_value(), card.verdict == traces::Verdict::kFound) << card.title;
    if (card.explanation) {
      EXPECT_EQ(*card.explanation, traces::readExplanation("balance_without_causal"));
    }
  }
}

TEST(DoctorSceneTest, AnExplanationBeginsWithTheFrameworkOfTheRecording) {
  const auto first = [](const std::string& note) {
    const auto scene = makeDoctorScene(
        traces::diagnose(*test::makeTrace("run cp=2 mask=full balance=head_tail\n" + note)), false);
    return scene.cards.at(0).explanation.value().remedies.at(0).framework;
  };
  EXPECT_EQ(first(""), "RingScope");
  EXPECT_EQ(first("note framework \"pytorch\"\n"), "PyTorch");
  EXPECT_EQ(first("note framework \"transformers\"\n"), "Hugging Face");
}

}  // namespace
}  // namespace ringscope::viz
