// SPDX-License-Identifier: Apache-2.0
#include "traces/query/capture_advice.h"

#include <gtest/gtest.h>

#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "traces/doctor/diagnosis.h"
#include "traces/query/framework.h"
#include "traces/verify/trace_check.h"

namespace ringscope::traces {
namespace {

TEST(CaptureAdvice, OfAnOwnRunItNamesTheCapture) {
  const Trace trace;
  EXPECT_FALSE(isForeign(trace));
  EXPECT_EQ(captureAdvice(trace, "full", "records it"), "--capture full records it");
  EXPECT_EQ(valuesAdvice(trace, 3, "shows it"), "--capture values:steps=3 shows it");
  EXPECT_EQ(verdictAdvice(trace, "shows it"), "a run with --verify shows it");
  for (const auto& advice : {scheduleAdvice(trace), maskAdvice(trace), memoryAdvice(trace)})
    EXPECT_EQ(advice, "a run of this engine with --trace would show it");
}

TEST(CaptureAdvice, OfAnImportedJobNoSentenceNamesACapture) {
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

}  // namespace
}  // namespace ringscope::traces
