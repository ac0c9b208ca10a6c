// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/ending.h"

#include <gtest/gtest.h>

#include "tests/support/any_records.h"
#include "tests/support/files.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/recording/recorder.h"
#include "traces/format/storage/sqlite_sink.h"

namespace ringscope::traces {
namespace {

/// Returns a run whose only message was never received, and that ended in this way.
std::shared_ptr<Trace> runThatEnded(const test::TempDir& dir, const std::vector<Ending>& endings) {
  const std::string path = dir.file("a.rscope");
  std::vector<std::unique_ptr<ChunkSink>> sinks;
  sinks.push_back(std::make_unique<SqliteSink>(path));
  Recorder recorder(2, std::move(sinks));
  Event send;
  send.kind = EventKind::kSend;
  send.payload = Payload::kKv;
  send.peer = WorldRank::of(1);
  send.flow = 7;
  recorder.event(send);
  Event of_peer;
  of_peer.rank = WorldRank::of(1);
  recorder.event(of_peer);
  for (const Ending& ending : endings) recorder.note(kEndedNote, endedNote(ending));
  recorder.close();
  return openTrace(path);
}

Verdict droppedHop(const Trace& trace) {
  for (const auto& entry : diagnose(trace).entries)
    if (entry.rule == "dropped_hop") return entry.result.verdict;
  return Verdict::kClear;
}

TEST(EndingTest, AFailedRunIsReportedFirstAndNoHopIsBlamed) {
  test::TempDir dir;
  const auto trace = runThatEnded(dir, {{HowEnded::kFinished, ""},
                                        {HowEnded::kFailed, "connection reset by peer"},
                                        {HowEnded::kFailed, "rank 1 was killed by signal 9"},
                                        {HowEnded::kStopped, ""}});
  const Ending ending = findEnding(*trace);
  EXPECT_EQ(ending.how, HowEnded::kFailed) << "the worst that any process said";
  EXPECT_FALSE(ending.whole());
  ASSERT_FALSE(trace->problems().empty());
  EXPECT_EQ(trace->problems().front(), "the run failed: rank 1 was killed by signal 9");
  EXPECT_EQ(droppedHop(*trace), Verdict::kNotObservable);
}

TEST(EndingTest, InARunThatEndedWellALostHopIsAFinding) {
  test::TempDir dir;
  for (const HowEnded how : {HowEnded::kFinished, HowEnded::kStopped}) {
    const auto trace = runThatEnded(dir, {{how, ""}});
    EXPECT_TRUE(findEnding(*trace).whole());
    EXPECT_TRUE(trace->problems().empty());
    EXPECT_EQ(droppedHop(*trace), Verdict::kFound);
  }
}

TEST(EndingTest, ARecordingWithoutAnEndWasCut) {
  EXPECT_EQ(findEnding(Trace()).how, HowEnded::kCut);
}

TEST(EndingTest, IgnoresANoteWithoutAnEnding) {
  test::AnyRecords builder;
  builder.trace().add(EndRecord{});
  for (const char* note : {"3", "{}", R"({"how": 7})", R"({"how": "sideways"})",
                           R"({"how": "stopped", "reason": []})"})
    builder.note(kEndedNote, note);
  EXPECT_EQ(findEnding(builder.trace()).how, HowEnded::kStopped);
  EXPECT_EQ(describe(findEnding(builder.trace())), "the run was stopped");
}

}  // namespace
}  // namespace ringscope::traces
