// SPDX-License-Identifier: GPL-3.0-or-later
// The statements of views about an imported job that kept nothing. RingScope's own options do not
// apply to it.
#include <gtest/gtest.h>

#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/position_rows.h"
#include "viz/scene/run_words.h"
#include "viz/views/coverage/coverage_scene.h"
#include "viz/views/diff/diff_scene.h"
#include "viz/views/diff/error_map_scene.h"
#include "viz/views/inspector/inspector_scene.h"
#include "viz/views/memory/memory_scene.h"
#include "viz/views/merge/merge_scene.h"
#include "viz/views/positions/token_table_scene.h"
#include "viz/views/tensor/tensor_scene.h"

namespace ringscope::viz {
namespace {

/// Returns a job without values and without position ids.
std::shared_ptr<traces::Trace> withoutValues(const test::RecordingCopy& copy) {
  for (const std::string rank : {"rank-00000", "rank-00001"}) {
    std::filesystem::remove(copy.file(rank + ".values-0000.safetensors"));
    std::string kept;
    for (const std::string& line : copy.lines(rank + ".jsonl"))
      if (line.find("position_ids") == std::string::npos) kept += line;
    copy.put(rank + ".jsonl", kept);
  }
  return traces::openTrace(copy.path());
}

TEST(ForeignSceneTest, NoViewOfAnImportedJobNamesACaptureOrVerifyOption) {
  const test::RecordingCopy copy(test::inSources("tests/reference/hand_recording"));
  const auto trace = withoutValues(copy);
  Cursor cursor;
  cursor.place = {0, Layer::of(0), traces::Direction::kForward, RingStep::of(0)};
  std::vector<std::string> said = {
      mergeHistory(*trace, cursor.place, {WorldRank::of(0), WorldRank::of(1)}, WorldRank::of(0), 0,
                   0)
          .missing,
      makePositionStrip(*trace, cursor).verdict(), makeTokenTable(*trace, cursor).missing};
  for (const ErrorUnit unit : {ErrorUnit::kLimit, ErrorUnit::kUlp})
    said.push_back(makeErrorMap(*trace, cursor, unit).missing);
  said.push_back(makeDiffScene(*trace, cursor, ErrorUnit::kLimit, false).note);
  const auto rows = makeTensorRows(*trace, cursor, "");
  EXPECT_FALSE(rows.empty());
  for (const TensorRow& row : rows)
    if (!row.record.has_values)
      said.push_back(makeTensorScene(*trace, row, {{}, nullptr, false}).note);
  for (const std::string& sentence : said) {
    EXPECT_FALSE(sentence.empty());
    EXPECT_EQ(sentence.find("--"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("ringscope"), std::string::npos) << sentence;
  }
}

/// Returns a line in which the attention of the first layer has other arguments than that of the
/// second.
std::string masked(std::string line) {
  const std::string causal = R"("causal":true)";
  const auto at = line.find(causal);
  if (line.find(R"("line":"attention")") == std::string::npos || at == std::string::npos ||
      line.find(R"("layer":0)") == std::string::npos)
    return line;
  return line.replace(at, causal.size(), R"("causal":false)");
}

/// Returns a job that attends block by block with an unknown mask.
std::shared_ptr<traces::Trace> withoutMask(const test::RecordingCopy& copy) {
  for (const std::string rank : {"rank-00000", "rank-00001"}) {
    std::string kept;
    for (const std::string& line : copy.lines(rank + ".jsonl"))
      if (line.find(R"("line":"declared")") == std::string::npos &&
          line.find(R"("line":"memory")") == std::string::npos)
        kept += masked(line);
    copy.put(rank + ".jsonl", kept);
  }
  return traces::openTrace(copy.path());
}

void expectNoEngineAdvice(const std::vector<std::string>& said) {
  for (const std::string& sentence : said)
    for (const char* engine : {"--", "this engine", "ringscope train"})
      EXPECT_EQ(sentence.find(engine), std::string::npos) << sentence;
}

/// Returns all texts of a moment's scenes that are the program's own.
std::vector<std::string> saidAt(const traces::Trace& trace, const Cursor& cursor) {
  std::vector<std::string> said;
  const RingScene ring = makeRingScene(trace, cursor);
  said.insert(said.end(), {ring.sentence, ring.note});
  for (const RankScene& rank : ring.ranks) said.insert(said.end(), {rank.attending, rank.idle});
  said.push_back(describe(makeCoverageScene(trace, cursor)));
  said.push_back(makeMemoryScene(trace, cursor).note);
  said.push_back(makePositionStrip(trace, cursor).verdict());
  said.push_back(makeTokenTable(trace, cursor).missing);
  said.push_back(makeDiffScene(trace, cursor, ErrorUnit::kLimit, false).note);
  for (const char* tensor : {"out", "dq"}) {
    Cursor of = cursor;
    of.tensor = tensor;
    said.push_back(makeErrorMap(trace, of, ErrorUnit::kUlp).missing);
  }
  for (const TensorRow& row : makeTensorRows(trace, cursor, ""))
    said.push_back(makeTensorScene(trace, row, {{}, nullptr, false}).note);
  const WorldRank rank = WorldRank::of(0);
  said.push_back(mergeHistory(trace, cursor.place, {rank, WorldRank::of(1)}, rank, 0, 0).missing);
  traces::WorstDiffs worst;
  worst.update(trace);
  const std::optional<traces::Diagnosis> diagnosis = traces::diagnose(trace);
  const auto memory = std::make_shared<const MemorySeries>(memorySeries(trace, rank, 10));
  const auto inspector = makeInspectorScene(trace, cursor, {ring, worst, diagnosis, memory, false});
  said.insert(said.end(), {inspector.note, inspector.attending, inspector.lse_note,
                           inspector.worst_advice, inspector.doctor, inspector.doctor_headline});
  for (const InspectedFinding& finding : inspector.findings)
    said.insert(said.end(), {finding.title, finding.evidence, finding.remedy});
  for (const auto& entry : diagnosis->entries) said.push_back(entry.result.would_settle);
  return said;
}

TEST(ForeignSceneTest, NothingThatScenesSayOfAnImportedJobIsAboutRunsOfTheEngine) {
  const std::string reference = test::inSources("tests/reference/");
  const test::RecordingCopy bare(reference + "hand_recording"),
      maskless(reference + "hand_recording");
  for (const auto& trace :
       {traces::openTrace(reference + "hand_recording"), traces::openTrace(reference + "recording"),
        withoutValues(bare), withoutMask(maskless)}) {
    ASSERT_FALSE(trace->moments().empty());
    for (const Place& place : trace->moments()) {
      Cursor cursor;
      cursor.place = place;
      expectNoEngineAdvice(saidAt(*trace, cursor));
    }
  }
}

TEST(ForeignSceneTest, ExplainsHowToDeclareAnUnknownMask) {
  const test::RecordingCopy copy(test::inSources("tests/reference/hand_recording"));
  const auto trace = withoutMask(copy);
  Cursor cursor;
  cursor.place = trace->moments().at(0);
  const std::string said = describe(makeCoverageScene(*trace, cursor));
  EXPECT_NE(said.find("the mask that was meant is not recorded"), std::string::npos) << said;
  EXPECT_NE(said.find("ringscope.record(…, declare={\"mask\": …})"), std::string::npos) << said;
  EXPECT_EQ(makePositionStrip(*trace, cursor).verdict(),
            "what was meant is not recorded; ringscope.record(…, declare={\"mask\": …}) tells it");
}

/// Returns a job whose model's arguments have names that the recorder does not know, and whose
/// third buffer is `pos`.
std::shared_ptr<traces::Trace> withUnseenPositions(const test::RecordingCopy& copy) {
  for (const std::string file : {"rank-00000.jsonl", "rank-00001.jsonl"}) {
    std::string kept;
    for (std::string line : copy.lines(file)) {
      const auto named = line.find(R"("name":"position_ids","named_by")");
      if (named != std::string::npos)
        line.replace(line.find("position_ids", named), 12, "pos");
      else if (line.find("position_ids") != std::string::npos)
        continue;
      kept += line;
    }
    copy.put(file, kept);
  }
  return traces::openTrace(copy.path());
}

TEST(ForeignSceneTest, PositionsThatTheRecorderDidNotSeeAreNotWrong) {
  const test::RecordingCopy copy(test::inSources("tests/reference/hand_recording"));
  const auto trace = withUnseenPositions(copy);
  Cursor cursor;
  cursor.place = trace->moments().at(0);
  const TokenTable table = makeTokenTable(*trace, cursor);
  ASSERT_EQ(table.buffers.size(), 4u);
  const BufferLane& positions = table.buffers[2];
  EXPECT_EQ(positions.name, "position_ids");
  EXPECT_FALSE(positions.accused());
  EXPECT_EQ(describeCut(positions), "– not recorded");
  EXPECT_EQ(describeValues(positions), "");
  EXPECT_EQ(table.buffers[3].name, "pos");
  EXPECT_EQ(describeCut(table.buffers[3]), "sharded: [1×8] of [1×16]");
  EXPECT_EQ(
      makePositionStrip(*trace, cursor).verdict(),
      "not recorded; ringscope.record(…) saw no position ids among the arguments of the model");
}

TEST(ForeignSceneTest, PositionsWithoutARecordedCutAreNotSaidToBeTheRanksOwn) {
  const auto trace = traces::openTrace(test::inSources("tests/reference/recording"));
  Cursor cursor;
  cursor.rank = WorldRank::of(1);
  const BufferLane positions = makeTokenTable(*trace, cursor).buffers[2];
  EXPECT_FALSE(positions.accused());
  EXPECT_EQ(describeCut(positions), "– no cut of it is recorded: the rank has [1×8]");
  EXPECT_EQ(describeValues(positions), "▲ 8 of 8 differ") << "that is recorded";
}

TEST(ForeignSceneTest, TargetsThatOnlyTheLossShowsAreNotSaidToBeTheRanksOwn) {
  const test::RecordingCopy copy(test::inSources("tests/reference/hand_recording"));
  for (const std::string file : {"rank-00000.jsonl", "rank-00001.jsonl"}) {
    std::string kept;
    for (const std::string& line : copy.lines(file))
      if (line.find(R"("name":"labels")") == std::string::npos) kept += line;
    copy.put(file, kept);
  }
  const auto trace = traces::openTrace(copy.path());
  ASSERT_NE(trace->findShard("labels", 0, WorldRank::of(1)), nullptr);
  Cursor cursor;
  cursor.rank = WorldRank::of(1);
  const BufferLane labels = makeTokenTable(*trace, cursor).buffers[1];
  EXPECT_FALSE(labels.accused());
  EXPECT_EQ(describeCut(labels), "– no cut of it is recorded: the rank has [1×8]");
}

TEST(ForeignSceneTest, AttentionWithoutBlocksIsNotSaidToAttendNothing) {
  const test::RecordingCopy copy(test::inSources("tests/reference/hand_recording"));
  for (const char* line : {"block", "merge"}) copy.drop(line);
  const auto without = traces::openTrace(copy.path());
  ASSERT_FALSE(without->moments().empty());
  for (const Place& place : without->moments()) {
    Cursor cursor;
    cursor.place = place;
    const RingScene ring = makeRingScene(*without, cursor);
    for (const RankScene& rank : ring.ranks) {
      EXPECT_FALSE(rank.known);
      EXPECT_EQ(rank.attending, "its blocks are not recorded");
    }
    EXPECT_EQ(ring.sentence.find("attends nothing"), std::string::npos) << ring.sentence;
  }
}

TEST(ForeignSceneTest, TheHeadlineSaysWhatIsNotKnownOfAttention) {
  const test::RecordingCopy copy(test::inSources("tests/reference/hand_recording"));
  EXPECT_TRUE(runHeadline(*withoutMask(copy), false).ends_with(", mask not known"));
  EXPECT_TRUE(
      runHeadline(
          *test::makeTrace("run command=import cp=2 seq_len=8\nnote framework \"transformers\"\n"),
          false)
          .ends_with(" · no attention recorded"));
}

TEST(ForeignSceneTest, AJobWithoutMemoryIsNotToldToRecordItself) {
  const test::RecordingCopy copy(test::inSources("tests/reference/hand_recording"));
  copy.drop("memory");
  const auto trace = traces::openTrace(copy.path());
  EXPECT_EQ(makeMemoryScene(*trace, {}).note,
            "No memory is recorded; the recorder of this job wrote no samples of it.");
}

}  // namespace
}  // namespace ringscope::viz
