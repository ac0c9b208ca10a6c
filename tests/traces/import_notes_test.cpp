// SPDX-License-Identifier: Apache-2.0
// The numbers that a recorded job logs, and how the job ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "traces/analysis/doctor/attention_passes.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/ending.h"
#include "traces/format/trace/lacks.h"
#include "traces/format/trace/observed_parts.h"
#include "traces/format/trace/own_parameters.h"
#include "traces/format/trace/step_log.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

/// Opens a copy of a real recording in which a field of both ranks is changed.
std::shared_ptr<Trace> openWith(const std::string& before, const std::string& after) {
  const test::RecordingCopy copy;
  for (const char* file : test::kRankFiles) copy.change(file, before, after);
  return openTrace(copy.path());
}

TEST(ImportNotes, ALoggedNullIsNoNumber) {
  const auto trace = openWith(R"("loss":4.222513198852539)", R"("loss":null)");
  const auto steps = loggedSteps(*trace);
  ASSERT_TRUE(steps.contains(0));
  ASSERT_TRUE(steps.at(0).loss);
  EXPECT_TRUE(std::isnan(*steps.at(0).loss));
}

TEST(ImportNotes, AnInterruptByTheUserIsNoFailure) {
  for (const char* why : {"interrupted", "failed: KeyboardInterrupt: "}) {
    const auto trace = openWith(R"("why":"finished")", std::string(R"("why":")") + why + '"');
    EXPECT_EQ(findEnding(*trace).how, HowEnded::kStopped) << why;
  }
  const auto trace = openWith(R"("why":"finished")", R"("why":"failed: ValueError: wrong")");
  EXPECT_EQ(findEnding(*trace).how, HowEnded::kFailed);
}

TEST(ImportNotes, WhatARecorderCannotObserveIsNoDamage) {
  const test::RecordingCopy copy;
  const std::string limit = R"({"line":"limit","why":"Block.forward is compiled"})";
  for (const char* file : test::kRankFiles)
    copy.put(file, copy.text(file).insert(copy.text(file).find('\n') + 1, limit + "\n"));
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(trace->problems().empty()) << trace->problems().front();
  const auto lacks = findLacks(*trace);
  EXPECT_EQ(std::ranges::count(lacks, "ranks 0 and 1: Block.forward is compiled"), 1);
}

TEST(ImportNotes, AWholeStepIsJudgedHoweverTheRunEnds) {
  const test::RecordingCopy copy(test::inSources("tests/reference/recording"));
  copy.drop("end");
  const auto cut = openTrace(copy.path());
  const Ending ending = findEnding(*cut);
  EXPECT_EQ(ending.how, HowEnded::kCut);
  EXPECT_TRUE(ending.wholeAt(0));
  EXPECT_FALSE(ending.wholeAt(ending.whole_until.value_or(0)));
  EXPECT_EQ(missingEvents(*cut), "");
  copy.drop("step");
  const auto within = openTrace(copy.path());
  EXPECT_FALSE(findEnding(*within).hasWholeSteps());
  EXPECT_NE(missingEvents(*within), "");
}

TEST(ImportNotes, LayersAreCountedFromAttention) {
  const test::RecordingCopy copy(test::inSources("tests/reference/recording"));
  for (const char* file : test::kRankFiles) copy.change(file, R"("layers":)", R"("other":)");
  EXPECT_EQ(openTrace(copy.path())->run()->model.layers, 2);
}

/// Adds a line to the file of the first rank, before its last line.
void addLine(const test::RecordingCopy& copy, const std::string& line) {
  auto lines = copy.lines(test::kFirstFile);
  lines.insert(lines.end() - 1, line + "\n");
  copy.put(test::kFirstFile, std::accumulate(lines.begin(), lines.end(), std::string()));
}

/// Says with which weights each rank began.
void addBeginnings(const test::RecordingCopy& copy, const std::string& first,
                   const std::string& second) {
  const auto line = [](const std::string& hashes) {
    return R"({"line":"beginnings","step":0,"hashes":{)" + hashes + "}}\n";
  };
  for (const auto& [file, hashes] :
       {std::pair{test::kRankFiles[0], first}, {test::kRankFiles[1], second}}) {
    auto lines = copy.lines(file);
    lines.insert(lines.end() - 1, line(hashes));
    copy.put(file, std::accumulate(lines.begin(), lines.end(), std::string()));
  }
}

TEST(ImportNotes, ParametersThatDifferBeforeTheFirstStepAreOwn) {
  const test::RecordingCopy copy;
  addBeginnings(copy, R"("a.w":"1","b.w":"2","expert.w":"3","expert.bias":"4")",
                R"("a.w":"1","b.w":"2","expert.w":"5","expert.bias":"4")");
  const OwnParameters own = ownParameters(*openTrace(copy.path()));
  EXPECT_EQ(own.names, (std::set<std::string>{"expert.bias", "expert.w"}));
  EXPECT_FALSE(own.unlike_groups);
}

TEST(ImportNotes, RanksThatBeganWithOtherWeightsOwnNone) {
  const test::RecordingCopy copy;
  addBeginnings(copy, R"("a.w":"1","b.w":"2")", R"("a.w":"3","b.w":"4")");
  EXPECT_TRUE(ownParameters(*openTrace(copy.path())).names.empty());
}

TEST(ImportNotes, ParametersThatBeginWithOnesTellNothing) {
  const test::RecordingCopy copy;
  addBeginnings(copy, R"("a.w":"1","b.w":"2","norm1.w":"9","norm2.w":"9")",
                R"("a.w":"3","b.w":"4","norm1.w":"9","norm2.w":"9")");
  EXPECT_TRUE(ownParameters(*openTrace(copy.path())).names.empty());
}

TEST(ImportNotes, AMergeHasTheRanksOfItsGroup) {
  const test::RecordingCopy copy;
  addLine(copy, R"({"line":"merge","step":0,"microbatch":0,"layer":0,"group":"0","found":"NONE"})");
  const auto trace = openTrace(copy.path());
  const auto merges = partialMerges(*trace, 0, WorldRank::of(0));
  const auto added = std::ranges::find(merges, "NONE", &PartialMerge::found);
  ASSERT_NE(added, merges.end());
  EXPECT_EQ(added->members, (std::vector{WorldRank::of(0), WorldRank::of(1)}));
}

}  // namespace
}  // namespace ringscope::traces
