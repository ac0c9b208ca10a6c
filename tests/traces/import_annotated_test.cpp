// SPDX-License-Identifier: Apache-2.0
// A real recording of a ring that a job wrote by itself
// (traces/recorder/tests/make_hand_recording.py), whole and changed.
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/place_at.h"
#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/lacks.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

using test::anySays;
using test::kRankFiles;
using test::rank;

const std::string kHandRecording = test::inSources("tests/reference/hand_recording");

std::vector<std::string> findingsIn(const Trace& trace) {
  std::vector<std::string> rules;
  for (const Finding& finding : diagnose(trace).findings()) rules.push_back(finding.rule);
  return rules;
}

TEST(ImportAnnotated, TheRingIsThatWhichTheJobNamed) {
  const auto trace = openTrace(kHandRecording);
  EXPECT_TRUE(trace->problems().empty()) << trace->problems().front();
  ASSERT_TRUE(trace->run());
  EXPECT_EQ(trace->run()->cp, 2);
  EXPECT_EQ(trace->run()->seq_len, 16);
  EXPECT_EQ(trace->run()->rotate, Rotate::kP2p);
  EXPECT_EQ(trace->run()->balance, Balance::kNone);
  ASSERT_TRUE(trace->groupContaining(rank(1), GroupAxis::kCp));
  EXPECT_EQ(trace->groupContaining(rank(1), GroupAxis::kCp)->members,
            (std::vector{rank(0), rank(1)}));
}

TEST(ImportAnnotated, AStepThatNoLineNamesIsSkippedForTheFuture) {
  const auto trace = openTrace(kHandRecording);
  for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
    const ScheduleRecord* schedule = trace->schedule(0, rank(0), direction);
    ASSERT_TRUE(schedule);
    ASSERT_EQ(schedule->stages.size(), 2u);
    EXPECT_EQ(schedule->stages[0].pieces,
              (std::vector<PieceRecord>{{0, 8, 0, 8, PieceMask::kCausal, 0, 0}}));
    EXPECT_EQ(schedule->stages[1].source_rank, rank(1));
    EXPECT_EQ(schedule->stages[1].why_empty, WhyEmpty::kFuture);
    EXPECT_TRUE(schedule->stages[0].forwards_kv);
    const ScheduleRecord* later = trace->schedule(0, rank(1), direction);
    ASSERT_TRUE(later);
    EXPECT_EQ(later->stages[1].pieces,
              (std::vector<PieceRecord>{{0, 8, 0, 8, PieceMask::kFull, 0, 0}}));
  }
}

TEST(ImportAnnotated, TheBalanceIsToldFromTheTokensThatRanksCut) {
  const std::string stripes[] = {"[[0,1],[2,3],[4,5],[6,7],[8,9],[10,11],[12,13],[14,15]]",
                                 "[[1,2],[3,4],[5,6],[7,8],[9,10],[11,12],[13,14],[15,16]]"};
  const auto dealt = [](const std::string& first, const std::string& second) {
    const test::RecordingCopy copy(kHandRecording);
    for (int i = 0; i < 3; ++i) {  // input_ids, labels, position_ids
      copy.change(kRankFiles[0], R"("tokens":[[0,8]])", "\"tokens\":" + first);
      copy.change(kRankFiles[1], R"("tokens":[[8,16]])", "\"tokens\":" + second);
    }
    return openTrace(copy.path())->run()->balance;
  };
  EXPECT_EQ(dealt("[[0,4],[12,16]]", "[[4,12]]"), Balance::kHeadTail);
  EXPECT_EQ(dealt(stripes[0], stripes[1]), Balance::kStriped);
  EXPECT_EQ(dealt("[[8,16]]", "[[0,8]]"), Balance::kNone) << "of no balance that is known";
}

TEST(ImportAnnotated, TheStrategyIsARingUnlessTheRecorderSawAnother) {
  const test::RecordingCopy copy(kHandRecording);
  EXPECT_EQ(openTrace(copy.path())->run()->strategy, Strategy::kRing);
  copy.change(kRankFiles[0], R"("strategy":null)", R"("strategy":"ulysses")");
  EXPECT_EQ(openTrace(copy.path())->run()->strategy, Strategy::kUlysses);
}

TEST(ImportAnnotated, MessagesAreHopsOfTheBlocksThatTheyCarry) {
  const auto trace = openTrace(kHandRecording);
  std::map<std::uint64_t, int> ends;
  int home = 0, loose = 0;
  for (const int r : {0, 1})
    for (const Event& event : trace->events(rank(r))) {
      const bool moves = event.kind == EventKind::kSend || event.kind == EventKind::kReceive;
      if (!moves) continue;
      loose += event.payload == Payload::kNone;
      ends[event.flow] += event.kind == EventKind::kSend ? 1 : 100;
      home += event.kind == EventKind::kReceive && event.payload == Payload::kDkv &&
              event.source_rank == rank(r);
    }
  EXPECT_EQ(loose, 0);
  EXPECT_EQ(home, 4);           // two layers, two ranks
  EXPECT_EQ(ends.size(), 16u);  // KV once forward and once backward, dKV twice
  for (const auto& [flow, count] : ends) EXPECT_EQ(count, 101);
}

TEST(ImportAnnotated, TheDoctorFindsNothingAndAttentionIsRight) {
  const auto trace = openTrace(kHandRecording);
  EXPECT_EQ(findingsIn(*trace), std::vector<std::string>());
  const auto check = checkLayer(*trace, {0, Layer::of(1)}, {rank(0), rank(1)}, 1e9);
  EXPECT_EQ(check.tensors.size(), 5u);  // out, lse, dq, dk, dv
  EXPECT_LT(check.worstRatio(), 1);
}

TEST(ImportAnnotated, TheWholeBatchIsComparedBetweenTheRanksThatCutIt) {
  const test::RecordingCopy copy(kHandRecording);
  const std::string whole = R"("what":"whole_buffer","name":"input_ids")";
  const std::string all = copy.text(kRankFiles[1]);
  const auto hash = all.find("\"hash\":\"", all.find(whole)) + 8;
  ASSERT_NE(all.find(whole), std::string::npos);
  std::string changed = all;
  changed[hash] = changed[hash] == '1' ? '2' : '1';
  copy.put(kRankFiles[1], changed);
  EXPECT_EQ(findingsIn(*openTrace(copy.path())),
            std::vector<std::string>{"different_batches_on_cp_ranks"});
}

TEST(ImportAnnotated, ASkippedStepWithKeysHasNoScheduleAndNoFindingIfOutIsRight) {
  const test::RecordingCopy copy(kHandRecording);
  std::string kept;
  for (const std::string& line : copy.lines(kRankFiles[1]))
    if (line.find(R"({"line":"block")") == std::string::npos ||
        line.find(R"("source_rank":1)") != std::string::npos)
      kept += line;
  copy.put(kRankFiles[1], kept);
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(anySays(findLacks(*trace), "some were passed over"));
  EXPECT_FALSE(trace->schedule(0, rank(1), Direction::kForward));
  EXPECT_TRUE(findingsIn(*trace).empty()) << "recorded out attends the skipped block";
}

TEST(ImportAnnotated, MessagesOfAnAttentionThatNeverEndedAreStillEvents) {
  const test::RecordingCopy copy(kHandRecording);
  std::string kept;
  for (const std::string& line : copy.lines(kRankFiles[0]))
    if (line.find(R"({"line":"hop")") == std::string::npos &&
        line.find(R"({"line":"attention_end")") == std::string::npos)
      kept += line;
  copy.put(kRankFiles[0], kept);
  const auto trace = openTrace(copy.path());
  int messages = 0;
  for (const Event& event : trace->events(rank(0)))
    messages += event.kind == EventKind::kSend && event.peer == rank(1);
  EXPECT_EQ(messages, 8);  // two layers: KV in both directions, dKV twice
}

TEST(ImportAnnotated, AttentionWithAScoreFunctionIsNotJudgedByItsMask) {
  const test::RecordingCopy copy(kHandRecording);
  for (const char* file : kRankFiles)
    copy.change(file, R"("masked":false)", R"("masked":true,"flex":{"score":"alibi"})");
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(anySays(findLacks(*trace), "changes scores by a function (alibi)"));
  EXPECT_TRUE(trace->intents().empty());
  EXPECT_EQ(findingsIn(*trace), std::vector<std::string>());
}

/// Changes each annotated attention into a flex_attention with this mask and without declarations.
void attendByFlex(const test::RecordingCopy& copy, const std::string& mask, bool masked = true) {
  for (const char* file : kRankFiles) {
    std::string all;
    for (std::string line : copy.lines(file)) {
      if (line.find(R"("line":"declared")") != std::string::npos) continue;
      constexpr std::string_view kBlock = R"({"line":"block",)";
      if (line.starts_with(kBlock))
        line.insert(kBlock.size(), std::string(masked ? R"("masked":true,)" : "") +
                                       R"("flex":{"mask":)" + mask + "},");
      all += line;
    }
    copy.put(file, all);
  }
}

TEST(ImportAnnotated, AWindowThatFlexAttentionAttendsIsTheMask) {
  const test::RecordingCopy copy(kHandRecording);
  attendByFlex(copy, R"({"kind":"window","window":5,"attended":0.2})");
  const auto trace = openTrace(copy.path());
  ASSERT_EQ(trace->intents().size(), 1U);
  EXPECT_EQ(trace->intents().front().mask, MaskKind::kWindow);
  EXPECT_EQ(trace->intents().front().window, 5);
  EXPECT_EQ(trace->run()->mask, MaskKind::kWindow);
  EXPECT_EQ(trace->run()->window, 5);
}

TEST(ImportAnnotated, AnUnknownMaskIsNotJudged) {
  const test::RecordingCopy copy(kHandRecording);
  attendByFlex(copy, R"({"kind":"other","attended":0.2})");
  EXPECT_TRUE(openTrace(copy.path())->intents().empty());
}

TEST(ImportAnnotated, TheAnnotationIsIntendedWhenFlexAttentionAttendsMore) {
  const test::RecordingCopy copy(kHandRecording);
  attendByFlex(copy, R"({"kind":"full","attended":1.0})", false);
  EXPECT_EQ(openTrace(copy.path())->intents().front().mask, MaskKind::kCausal);
}

TEST(ImportAnnotated, WithoutARingTheSequenceIsAsLongAsTheBuffersThatWereCut) {
  const test::RecordingCopy copy(kHandRecording);
  const std::int64_t length = openTrace(copy.path())->run()->seq_len;
  for (const char* file : kRankFiles) {
    std::string all;
    for (std::string line : copy.lines(file)) {
      if (const auto at = line.find(R"("ring":{)"); at != std::string::npos)
        line.replace(at, 7, R"("more":)");
      all += line;
    }
    copy.put(file, all);
  }
  EXPECT_EQ(openTrace(copy.path())->run()->seq_len, length);
}

TEST(ImportAnnotated, GroupsThatDoNotFitTogetherMakeNoMesh) {
  const test::RecordingCopy copy(kHandRecording);
  copy.change(kRankFiles[1], R"("members":[0,1])", R"("members":[1])");
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(anySays(findLacks(*trace), "named no groups that fit together"));
  EXPECT_EQ(trace->run()->cp, 1) << "no rank is known to share a sequence with another";
  EXPECT_EQ(trace->run()->dp * trace->run()->tp, 2);
}

}  // namespace
}  // namespace ringscope::traces
