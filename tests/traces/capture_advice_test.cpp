// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/capture_advice.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/verify/trace_check.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/recorder_request.h"

namespace ringscope::traces {
namespace {

TEST(CaptureAdvice, AdviceForAnOwnRunNamesTheCapture) {
  const Trace trace;
  EXPECT_FALSE(isForeign(trace));
  EXPECT_EQ(captureAdvice(trace, "full", "records it"), "--capture full records it");
  EXPECT_EQ(valuesAdvice(trace, 3, "shows it"), "--capture values:steps=3 shows it");
  EXPECT_EQ(verdictAdvice(trace, "shows it"), "a run with --verify shows it");
  for (const auto& advice : {scheduleAdvice(trace), maskAdvice(trace), memoryAdvice(trace)})
    EXPECT_EQ(advice, "a run of this engine with --trace would show it");
}

TEST(CaptureAdvice, AdviceForAnImportedJobNamesNoCapture) {
  const test::RecordingCopy copy(test::inSources("tests/reference/hand_recording"));
  for (const char* name :
       {"rank-00000.values-0000.safetensors", "rank-00001.values-0000.safetensors"})
    std::filesystem::remove(copy.file(name));
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(isForeign(*trace));
  std::string said = toText(checkTrace(*trace));
  for (const auto& entry : diagnose(*trace).entries) {
    said += entry.result.would_settle + "\n";
    for (const Finding& finding : entry.result.findings) said += finding.remedy + "\n";
  }
  said += scheduleAdvice(*trace) + maskAdvice(*trace) + memoryAdvice(*trace);
  EXPECT_EQ(said.find("--"), std::string::npos) << said;
  EXPECT_NE(said.find("ringscope.record(…, values=\"all\") keeps all that its recorder sees"),
            std::string::npos)
      << said;
}

/// Returns an own run with these settings and nothing else recorded.
Trace ownRun(const std::string& capture, bool verify) {
  RunSpec run;
  run.capture = capture;
  run.verify = verify;
  Trace trace;
  trace.add(run);
  return trace;
}

TEST(CaptureAdvice, AnOptionThatARunHadIsNotAdvisedAgain) {
  const Trace full = ownRun("full", true);
  for (const auto& advice :
       {captureAdvice(full, "full", "shows it"), captureAdvice(full, "stats", "shows it"),
        valuesAdvice(full, 3, "shows it")})
    EXPECT_EQ(advice,
              "the run had --capture full, and this is not in its recording; `ringscope info` says "
              "what the recording lacks");
  EXPECT_EQ(verdictAdvice(full, "shows it"),
            "the run had --verify, and this is not in its recording; `ringscope info` says what "
            "the recording lacks");
  for (const auto& advice : {scheduleAdvice(full), maskAdvice(full), memoryAdvice(full)})
    EXPECT_TRUE(advice.starts_with("this is not in the recording; ")) << advice;
  const Trace one_step = ownRun("values:steps=0", false);
  EXPECT_FALSE(captureWouldHelp(one_step, "values:steps=0"));
  EXPECT_FALSE(captureWouldHelp(one_step, "stats"));
  EXPECT_EQ(valuesAdvice(one_step, 1, "shows it"), "--capture values:steps=1 shows it");
  EXPECT_EQ(captureAdvice(one_step, "full", "shows it"), "--capture full shows it");
  EXPECT_EQ(captureAdvice(ownRun("none", false), "stats", "shows it"), "--capture stats shows it");
  EXPECT_EQ(verdictAdvice(one_step, "shows it"), "a run with --verify shows it");
}

/// The recording of a job that was made with these options. `left_out` goes into each rank's last
/// line.
class Requested : public test::RecordingCopy {
  static constexpr const char* kPolicy = "\"left_out\":{\"policy\":";

 public:
  Requested(const std::string& options, const std::string& left_out)
      : RecordingCopy(test::inSources("tests/reference/hand_recording")) {
    for (const char* name : {"rank-00000.jsonl", "rank-00001.jsonl"}) {
      change(name, "{\"line\":\"declared\"",
             "{\"line\":\"options\"," + options + "}\n" + "{\"line\":\"declared\"");
      for (const char* before : {"34}", "38}"})
        if (text(name).find(kPolicy + std::string(before)) != std::string::npos)
          change(name, kPolicy + std::string(before), "\"left_out\":" + left_out);
    }
  }
};

TEST(CaptureAdvice, AJobIsToldToKeepAllValuesOnlyWhereThatKeepsMore) {
  struct Case {
    std::string options, left_out;
    bool all_helps;
  };
  for (const auto& [options, left_out, all_helps] : {
           Case{R"("values":"auto","steps":[[0,1]])", R"({"policy":34})", true},
           Case{R"("values":"none","steps":[[0,1]])", "{}", true},
           Case{R"("values":"auto","steps":[[0,1]])", "{}", false},
           Case{R"("values":"all","steps":[[0,1]])", "{}", false},
           Case{R"("values":"all","steps":null)", "{}", false},
       }) {
    const Requested job(options, left_out);
    const auto trace = openTrace(job.path());
    SCOPED_TRACE(options + left_out);
    EXPECT_EQ(captureWouldHelp(*trace, "full"), all_helps);
    std::string said = captureAdvice(*trace, "full", "keeps it") + toText(checkTrace(*trace)) +
                       valuesAdvice(*trace, 0, "keeps it");
    for (const auto& entry : diagnose(*trace).entries) said += entry.result.would_settle;
    EXPECT_EQ(said.find("values=\"all\") keeps") != std::string::npos, all_helps) << said;
  }
}

TEST(CaptureAdvice, NamesTheBudgetOrStepsOptionThatLeftValuesOut) {
  const Requested full(R"("values":"all","budget_bytes":4096,"steps":[[0,1],[5,8]])",
                       R"({"budget":3})");
  const auto trace = openTrace(full.path());
  EXPECT_EQ(captureAdvice(*trace, "full", "keeps it"),
            "the values of 6 tensors did not fit into budget_bytes=4096 of ringscope.record(…); a "
            "larger one keeps them");
  EXPECT_EQ(valuesAdvice(*trace, 4, "keeps it"),
            "steps= of ringscope.record(…) did not include training step 4");
  EXPECT_EQ(valuesAdvice(*trace, 6, "keeps it"), captureAdvice(*trace, "full", "keeps it"));
}

TEST(CaptureAdvice, SmallValuesAreKeptUnlessNoneWereAskedFor) {
  const Requested automatic(R"("values":"auto")", R"({"policy":9})"),
      none(R"("values":"none")", "{}");
  EXPECT_FALSE(captureWouldHelp(*openTrace(automatic.path()), "stats"));
  EXPECT_TRUE(captureWouldHelp(*openTrace(none.path()), "stats"));
}

TEST(CaptureAdvice, AnOlderRecordingIsJudgedByTheValuesThatItLeftOut) {
  const auto trace = openTrace(test::inSources("tests/reference/hand_recording"));
  const auto request = recorderRequest(*trace);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->values, "");
  EXPECT_EQ(request->left_out_by_policy, 34 + 38);
  EXPECT_TRUE(captureWouldHelp(*trace, "full"));
  const test::RecordingCopy killed(test::inSources("tests/reference/hand_recording"));
  killed.drop("end");
  EXPECT_EQ(recorderRequest(*openTrace(killed.path()))->left_out_by_policy, std::nullopt);
}

TEST(CaptureAdvice, ALossThatTheJobDidNotLogIsNotAskedForAsValues) {
  const test::RecordingCopy silent(test::inSources("tests/reference/hand_recording"));
  silent.drop("log");
  const auto entries = diagnose(*openTrace(silent.path())).entries;
  const auto entry = std::ranges::find(entries, "loss_scaled_by_cp", &Diagnosis::Entry::rule);
  ASSERT_NE(entry, entries.end());
  EXPECT_EQ(entry->result.would_settle, "needs the loss that the job logs: ringscope.log(loss=…)");
}

TEST(CaptureAdvice, AScheduleThatTheRecorderSawBlocksOfIsNotAskedForAgain) {
  const auto trace = openTrace(test::inSources("tests/reference/hand_recording"));
  EXPECT_TRUE(recorderRequest(*trace)->annotated);
  EXPECT_TRUE(scheduleAdvice(*trace).starts_with("the blocks that the recorder saw"));
  EXPECT_EQ(maskAdvice(*trace).find("declare="), std::string::npos) << "it was declared";
}

}  // namespace
}  // namespace ringscope::traces
