// SPDX-License-Identifier: Apache-2.0
// A real recording of two ranks (traces/recorder/tests/make_recording.py), whole and damaged.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/place_at.h"
#include "tests/support/recording_copy.h"
#include "tests/traces/doctor_answers.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/exchange/import/write_trace.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

using test::anySays;
using test::kFirstFile;
using test::kRecording;
using test::rank;
using test::RecordingCopy;

Verdict verdictIn(const Trace& trace, const std::string& rule) {
  for (const auto& entry : diagnose(trace).entries)
    if (entry.rule == rule) return entry.result.verdict;
  throw usageError("there is no rule " + rule);
}

TEST(ImportRecording, OpensAFolderOfRankFilesAsOneRun) {
  const auto trace = openTrace(kRecording);
  EXPECT_TRUE(trace->problems().empty()) << trace->problems().front();
  ASSERT_TRUE(trace->run());
  EXPECT_EQ(trace->run()->command, Command::kImport);
  EXPECT_EQ(trace->run()->cp, 2);
  EXPECT_EQ(trace->run()->dp, 1);
  EXPECT_EQ(trace->run()->seq_len, 16);
  EXPECT_EQ(trace->run()->model.layers, 2);
  EXPECT_EQ(trace->run()->model.heads, 4);
  EXPECT_EQ(trace->run()->balance, Balance::kHeadTail);
  EXPECT_EQ(trace->run()->rotate, Rotate::kAllGather);
  ASSERT_TRUE(trace->groupContaining(rank(1), GroupAxis::kCp));
  EXPECT_EQ(trace->groupContaining(rank(1), GroupAxis::kCp)->members,
            (std::vector{rank(0), rank(1)}));
}

TEST(ImportRecording, ShardsHaveTheTokensThatPytorchLeftOnEachRank) {
  const auto trace = openTrace(kRecording);
  const ShardRecord* first = trace->findShard("input_ids", 0, rank(0));
  const ShardRecord* second = trace->findShard("input_ids", 0, rank(1));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->global_from_local, (std::vector<TokenRun>{{0, 4}, {12, 16}}));
  EXPECT_EQ(second->global_from_local, (std::vector<TokenRun>{{4, 12}}));
  EXPECT_EQ(first->full_shape, (std::vector<std::int64_t>{1, 16}));
}

TEST(ImportRecording, TheScheduleIsThatOfTheBlocksThatWereAttended) {
  const auto trace = openTrace(kRecording);
  const ScheduleRecord* schedule = trace->schedule(0, rank(0), Direction::kForward);
  ASSERT_TRUE(schedule);
  ASSERT_EQ(schedule->stages.size(), 2u);
  EXPECT_EQ(schedule->stages[0].pieces,
            (std::vector<PieceRecord>{{0, 8, 0, 8, PieceMask::kCausal, 0, 0}}));
  EXPECT_EQ(schedule->stages[1].source_rank, rank(1));
  EXPECT_EQ(schedule->stages[1].pieces,
            (std::vector<PieceRecord>{{4, 8, 0, 8, PieceMask::kFull, 0, 0}}));
  EXPECT_TRUE(schedule->stages[0].forwards_kv);
  EXPECT_FALSE(schedule->stages[1].forwards_kv);
}

TEST(ImportRecording, EveryHopOfGradientsHasBothEnds) {
  const auto trace = openTrace(kRecording);
  std::map<std::uint64_t, int> ends;
  for (const int r : {0, 1})
    for (const Event& event : trace->events(rank(r)))
      if (event.payload == Payload::kDkv && event.flow != 0)
        ends[event.flow] += event.kind == EventKind::kSend ? 1 : 100;
  EXPECT_EQ(ends.size(), 8u);  // two layers, two ranks, two hops
  for (const auto& [flow, count] : ends) EXPECT_EQ(count, 101);
}

TEST(ImportRecording, RecordedAttentionIsComputedAgainWithinRounding) {
  const auto trace = openTrace(kRecording);
  const auto check = checkLayer(*trace, {0, Layer::of(1)}, {rank(0), rank(1)}, 1e9);
  EXPECT_EQ(check.tensors.size(), 5u);  // out, lse, dq, dk, dv
  EXPECT_LT(check.worstRatio(), 1);
}

TEST(ImportRecording, TheDoctorFindsTheMistakeOfTheJobAndNoOther) {
  const auto trace = openTrace(kRecording);
  for (const Rule& rule : rules()) {
    const RuleResult answer = rule.check(Readings(*trace));
    EXPECT_EQ(answer.verdict == Verdict::kFound, rule.id == "missing_position_ids") << rule.id;
  }
}

TEST(ImportRecording, JudgesUndeclaredPositionsThatRestartOnEachRank) {
  const RecordingCopy copy;
  for (const char* file : {kFirstFile, "rank-00001.jsonl"})
    copy.change(file, "\"positions\":\"whole_sequence\",", "");
  const auto trace = openTrace(copy.path());
  EXPECT_EQ(findFramework(*trace), Framework::kPyTorch);
  const auto findings = diagnose(*trace).findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().rule, "missing_position_ids");
  EXPECT_EQ(findings.front().confidence, Confidence::kLikely);
  EXPECT_EQ(findings.front().fix.framework, "PyTorch");
}

TEST(ImportRecording, WithoutGradientsAndLabelsTheirRulesSayThatTheyCannotKnow) {
  const RecordingCopy copy;
  for (const char* name : {kFirstFile, "rank-00001.jsonl"}) {
    std::string kept;
    for (const std::string& line : copy.lines(name))
      if (line.find(R"("what":"grad")") == std::string::npos &&
          line.find(R"({"line":"loss")") == std::string::npos)
        kept += line;
    copy.put(name, kept);
  }
  const auto trace = openTrace(copy.path());
  for (const char* rule :
       {"missing_cp_grad_reduce", "shift_labels_per_shard", "mean_of_local_means"})
    EXPECT_EQ(test::answerFrom(rule, *trace).verdict, Verdict::kNotObservable) << rule;
}

TEST(ImportRecording, AMaskThatNobodyDeclaredClearsNoRuleAboutForgottenMasks) {
  const RecordingCopy copy;
  EXPECT_EQ(verdictIn(*openTrace(copy.path()), "documents_ignored"), Verdict::kClear);
  for (const char* name : {kFirstFile, "rank-00001.jsonl"})
    copy.change(name, R"("mask":"causal",)", "");
  const auto trace = openTrace(copy.path());
  for (const char* rule : {"documents_ignored", "mask_dropped", "padding_unmasked"})
    EXPECT_EQ(verdictIn(*trace, rule), Verdict::kNotObservable) << rule;
  EXPECT_EQ(verdictIn(*trace, "ring_bypassed"), Verdict::kClear);
}

TEST(ImportRecording, UsesTheModelsWindowIfItIsShorterThanTheSequence) {
  for (const char* window : {"8", "16"}) {
    const RecordingCopy copy;
    for (const char* name : {kFirstFile, "rank-00001.jsonl"}) {
      copy.change(name, R"("mask":"causal",)", "");
      copy.change(name, R"("config":{)", std::string(R"("config":{"sliding_window":)") + window);
    }
    const bool shorter = std::string(window) == "8";
    EXPECT_EQ(verdictIn(*openTrace(copy.path()), "mask_dropped"),
              shorter ? Verdict::kFound : Verdict::kNotObservable);
  }
}

TEST(ImportRecording, ImportingWritesTheSameTrace) {
  const test::TempDir dir;
  EXPECT_TRUE(writeTrace(kRecording, dir.file("job.rscope")).empty());
  const auto folder = openTrace(kRecording), file = openTrace(dir.file("job.rscope"));
  EXPECT_TRUE(file->problems().empty()) << file->problems().front();
  EXPECT_EQ(file->eventCount(), folder->eventCount());
  EXPECT_EQ(file->tensors().size(), folder->tensors().size());
  EXPECT_EQ(*file->run(), *folder->run());
}

TEST(ImportRecording, AKilledRankLosesItsLastLineAndNoMore) {
  const RecordingCopy copy;
  const std::string all = copy.text(kFirstFile);
  copy.put(kFirstFile, all.substr(0, all.size() - 40));
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(anySays(trace->problems(), "the last line of rank 0 was cut"));
  EXPECT_TRUE(anySays(trace->problems(), "the recording was cut"));
  EXPECT_EQ(trace->tensors().size(), openTrace(kRecording)->tensors().size());
}

TEST(ImportRecording, ValuesThatDidNotFitIntoTheBudgetAreSaid) {
  const RecordingCopy copy;
  copy.change(kFirstFile, R"("left_out":{)", R"("left_out":{"budget":3,)");
  EXPECT_TRUE(anySays(openTrace(copy.path())->problems(), "values of 3 tensors did not fit"));
}

TEST(ImportRecording, AMissingRankIsSaid) {
  const RecordingCopy copy;
  fs::remove(copy.file("rank-00001.jsonl"));
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(anySays(trace->problems(), "the files of rank 1 of 2 are missing"));
  EXPECT_GT(trace->eventCount(rank(0)), 0u);
}

TEST(ImportRecording, ALinkIsNotFollowed) {
  const RecordingCopy copy;
  const std::string elsewhere = copy.file("elsewhere.txt");
  fs::rename(copy.file("rank-00001.jsonl"), elsewhere);
  fs::create_symlink(elsewhere, copy.file("rank-00001.jsonl"));
  EXPECT_TRUE(anySays(openTrace(copy.path())->problems(), "the files of rank 1 of 2 are missing"));
}

TEST(ImportRecording, ValuesOfAnotherFolderAreNotRead) {
  const RecordingCopy copy;
  const std::string name = "rank-00000.values-0000.safetensors";
  fs::copy_file(copy.file(name), copy.file("../" + name));
  std::string all = copy.text(kFirstFile);
  for (auto at = all.find(name); at != std::string::npos; at = all.find(name, at + name.size() + 3))
    all.replace(at, name.size(), "../" + name);
  copy.put(kFirstFile, all);
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(anySays(trace->problems(), "is no name of a file of values"));
  for (const TensorRecord& tensor : trace->tensors())
    EXPECT_FALSE(tensor.rank == rank(0) && tensor.tensor.kind == TensorKind::kQ &&
                 tensor.has_values);
}

TEST(ImportRecording, ADamagedFileOfValuesLosesItsValuesAlone) {
  const RecordingCopy copy;
  const std::string name = "rank-00000.values-0000.safetensors";
  copy.put(name, copy.text(name).substr(0, 5000));
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(anySays(trace->problems(), name));
  EXPECT_EQ(trace->tensors().size(), openTrace(kRecording)->tensors().size());
}

TEST(ImportRecording, FilesOfTwoJobsAreRefused) {
  const RecordingCopy copy;
  copy.change(kFirstFile, R"("job":")", R"("job":"another )");
  EXPECT_ERROR(openTrace(copy.path()), ErrorCode::kInput, "are not of one job");
}

TEST(ImportRecording, AnotherVersionIsRefusedByItsNumber) {
  const RecordingCopy copy;
  copy.change(kFirstFile, R"("version":1)", R"("version":7)");
  EXPECT_ERROR(openTrace(copy.path()), ErrorCode::kInput, "version 7");
}

TEST(ImportRecording, ARankThatNamesAnotherRankIsRefused) {
  const RecordingCopy copy;
  copy.change(kFirstFile, R"("rank":0)", R"("rank":5)");
  EXPECT_ERROR(openTrace(copy.path()), ErrorCode::kInput, "says that it is of rank 5");
}

TEST(ImportRecording, AFolderWithoutRankFilesIsRefusedWithWhatCanBeOpened) {
  const test::TempDir dir;
  EXPECT_ERROR(openTrace(fs::path(dir.file("x")).parent_path().string()), ErrorCode::kInput,
               "recorded PyTorch jobs");
}

}  // namespace
}  // namespace ringscope::traces
