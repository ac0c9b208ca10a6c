// SPDX-License-Identifier: Apache-2.0
// Recordings of a few lines, replayed as if every rank had its own device.
#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"
#include "traces/analysis/clock/device_scale.h"
#include "traces/analysis/clock/recorded_program.h"
#include "traces/analysis/clock/timeline.h"
#include "traces/format/core/stopped.h"

namespace ringscope::test {
namespace {

using namespace traces;

/// Two ranks swap blocks of 2,000 bytes under their first block. Wall times say nothing: both ran
/// on one core.
const char* const kRing = R"(
run cp=2 cores=1
group cp 0,1
attend rank=0 layer=0 stage=0 source=0 time=0-500 cpu=1000
wait rank=0 layer=0 stage=0 payload=kv peer=1 group=0 exchange=1 time=600-900
receive rank=0 peer=1 layer=0 stage=0 payload=kv flow=12 group=0 exchange=1 bytes=2000 time=0-900
send rank=0 peer=1 layer=0 stage=0 payload=kv flow=11 group=0 exchange=1 bytes=2000 time=0-800
attend rank=0 layer=0 stage=1 source=1 time=900-950 cpu=300
attend rank=1 layer=0 stage=0 source=1 time=200-700 cpu=4000
wait rank=1 layer=0 stage=0 payload=kv peer=0 group=0 exchange=1 time=700-901
receive rank=1 peer=0 layer=0 stage=0 payload=kv flow=11 group=0 exchange=1 bytes=2000 time=199-801
send rank=1 peer=0 layer=0 stage=0 payload=kv flow=12 group=0 exchange=1 bytes=2000 time=199-900
attend rank=1 layer=0 stage=1 source=0 time=910-990 cpu=1000
)";

Hardware hardware(double gigabytes, double latency_us) {
  Hardware h;
  h.link = {"case", gigabytes, latency_us, true, true};
  return h;
}

std::uint32_t eventOf(const RecordedProgram& recorded, std::size_t rank, EventKind kind, int nth) {
  for (std::uint32_t e = 0; e < recorded.events[rank].size(); ++e)
    if (recorded.events[rank][e].kind == kind && nth-- == 0) return e;
  return Program::kNone;
}

std::string lackOf(const std::string& text) {
  const auto trace = makeTrace(text);
  const auto recorded = recordedProgram(*trace, 0, 0);
  return recorded.lacks.empty() ? "" : recorded.lacks.front();
}

std::string without(std::string text, const std::string& part) {
  for (std::size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
  return text;
}

TEST(ClockRecordedTest, StepEventsGiveTheSameProgramAsTheTrace) {
  const auto trace = makeTrace(kRing);
  StepEvents step = stepEvents(*trace, 0, 0);
  EXPECT_EQ(countEvents(step.of_rank), trace->eventCount());
  const auto recorded = recordedProgram(*trace, 0, 0);
  const auto apart = recordedProgram(step);
  EXPECT_EQ(replay(apart.program, hardware(1, 0.1)).spans,
            replay(recorded.program, hardware(1, 0.1)).spans);
  EXPECT_EQ(apart.lacks, recorded.lacks);
  EXPECT_EQ(apart.recorded_ns, recorded.recorded_ns);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(recordedProgram(std::move(step), stop.get_token()), Stopped);
}

TEST(ClockRecordedTest, WaitsComeFromTheLinkAndNotFromTheScheduler) {
  const auto trace = makeTrace(kRing);
  const auto recorded = recordedProgram(*trace, 0, 0);
  ASSERT_TRUE(recorded.usable()) << recorded.lacks.front();
  EXPECT_FALSE(recorded.own_cores);
  const ModelTimeline timeline = replay(recorded.program, hardware(1, 0.1));
  // Both post at 0; 2,000 bytes at 1 GB/s after 100 ns arrive at 2,100. Rank 0 has attended at
  // 1,000 and waits; rank 1 attends until 4,000.
  const auto first = eventOf(recorded, 0, EventKind::kAttend, 0);
  const auto second = eventOf(recorded, 0, EventKind::kAttend, 1);
  const auto wait = eventOf(recorded, 0, EventKind::kWait, 0);
  EXPECT_EQ(timeline.spans[0][first], (ClockSpan{0, 1000}));
  EXPECT_EQ(timeline.spans[0][wait], (ClockSpan{1000, 2100}));
  EXPECT_EQ(timeline.spans[0][second], (ClockSpan{2100, 2400}));
  EXPECT_EQ(timeline.spans[0][eventOf(recorded, 0, EventKind::kSend, 0)], (ClockSpan{0, 2100}));
  EXPECT_EQ(timeline.endNs(), 5000);
  const CommunicationSum of_0 = timeline.sum(WorldRank::of(0));
  EXPECT_EQ(of_0.exposed_ns, 1100);
  EXPECT_EQ(of_0.hidden_ns, 1000);
  EXPECT_EQ(of_0.late_ns, 0);
  EXPECT_EQ(of_0.bytes, 2000);
  EXPECT_EQ(timeline.sum(WorldRank::of(1)).exposed_ns, 0);
  ASSERT_EQ(timeline.critical_path.size(), 2u);  // rank 1's two blocks
  EXPECT_EQ(timeline.critical_path[0].rank, WorldRank::of(1));
}

TEST(ClockRecordedTest, DeviceScaleFollowsRecordedAttention) {
  const auto recorded = recordedProgram(*makeTrace(kRing), 0, 0);
  RunSpec run;
  run.cp = 2;
  run.mask = MaskKind::kFull;
  run.seq_len = 32;
  run.model = {"case", 1, 8, 4, 4, 2, 8};
  // 4 · 2 · 4 operations for each of 32 · 32 pairs: 2,000 ns at half of 32,768 a microsecond. The
  // recording has 1,000 + 300 + 4,000 + 1,000 ns of CPU time for them, all forward.
  DeviceRates device;
  device.fp32_teraflops = 0.032768;
  const DeviceScale scale = deviceScale(recorded, &run, device, 0.5);
  EXPECT_NEAR(scale.times, 6300.0 / 2000, 1e-9) << scale.why;
  run.mask = MaskKind::kDocuments;
  EXPECT_EQ(deviceScale(recorded, &run, device, 0.5).times, 0);
  EXPECT_NE(deviceScale(recorded, &run, device, 0.5).why.find("documents"), std::string::npos);
  run.model.heads = 0;
  EXPECT_NE(deviceScale(recorded, &run, device, 0.5).why.find("how large"), std::string::npos);
  EXPECT_EQ(deviceScale(recorded, nullptr, device, 0.5).times, 0);
}

TEST(ClockRecordedTest, ALatePeerIsNotASlowLink) {
  const std::string late = "project rank=1 layer=0 time=100-150 cpu=3000\n" + std::string(kRing);
  const auto trace = makeTrace(late);
  const auto recorded = recordedProgram(*trace, 0, 0);
  const ModelTimeline timeline = replay(recorded.program, hardware(1, 0.1));
  const CommunicationSum of_0 = timeline.sum(WorldRank::of(0));
  EXPECT_EQ(of_0.exposed_ns, 4100);  // from 1,000 until rank 1 has posted at 3,000, and 2,100 more
  EXPECT_EQ(of_0.late_ns, 2000);
  EXPECT_EQ(of_0.under_way_ns, 2100);
}

TEST(ClockRecordedTest, TheCriticalPathStartsAtTheLatePeer) {
  std::string text = "project rank=1 layer=0 time=100-150 cpu=3000\n" + std::string(kRing);
  text.replace(text.find("cpu=300\n"), 7, "cpu=9000");
  const auto trace = makeTrace(text);
  const auto recorded = recordedProgram(*trace, 0, 0);
  const ModelTimeline timeline = replay(recorded.program, hardware(1, 0.1));
  ASSERT_EQ(timeline.critical_path.size(), 3u);
  EXPECT_EQ(timeline.critical_path[0].rank, WorldRank::of(1));
  EXPECT_EQ(timeline.critical_path[0].span, (ClockSpan{0, 3000}));
  EXPECT_EQ(timeline.critical_path[1].kind, CriticalPart::Kind::kTransfer);
  EXPECT_EQ(timeline.critical_path[1].span, (ClockSpan{3000, 5100}));
  EXPECT_EQ(timeline.critical_path[2].rank, WorldRank::of(0));
  EXPECT_EQ(timeline.critical_path[2].span, (ClockSpan{5100, 14100}));
}

TEST(ClockRecordedTest, ACollectiveCutsItsStageByTheRecordedClock) {
  const auto trace = makeTrace(R"(
run cp=2 cores=2
group dp_cp 0,1
grad_sync rank=0 direction=backward time=0-100 cpu=600
collective rank=0 direction=backward payload=grads group=0 flow=5 bytes=1000 time=50-90
grad_sync rank=1 direction=backward time=0-100 cpu=120
collective rank=1 direction=backward payload=grads group=0 flow=5 bytes=1000 time=60-90
)");
  const auto recorded = recordedProgram(*trace, 0, 0);
  ASSERT_TRUE(recorded.usable()) << recorded.lacks.front();
  const ModelTimeline timeline = replay(recorded.program, hardware(1, 0.1));
  // Rank 0 works 600 · 50/60 = 500 before and 100 after. All-reduce over 2: 2 · 100 + 1,000 in a
  // ring, 2 · (100 + 1,000) in a tree.
  EXPECT_EQ(timeline.spans[0][eventOf(recorded, 0, EventKind::kCollective, 0)],
            (ClockSpan{500, 1700}));
  EXPECT_EQ(timeline.spans[0][eventOf(recorded, 0, EventKind::kGradSync, 0)], (ClockSpan{0, 1800}));
  const CommunicationSum of_1 = timeline.sum(WorldRank::of(1));
  EXPECT_EQ(of_1.exposed_ns, 1700 - 102);  // 120 · 60/70, rounded down
  EXPECT_EQ(of_1.late_ns, 500 - 102);
}

/// The device's clock goes on while its rank waits: 40 of its 100 are the collective's.
TEST(ClockRecordedTest, WaitsWithinADeviceStageAreNotWork) {
  const auto trace = makeTrace(R"(
run cp=2 cores=2
group dp_cp 0,1
grad_sync rank=0 direction=backward time=0-100 device=1
collective rank=0 direction=backward payload=grads group=0 flow=5 bytes=1000 time=50-90
grad_sync rank=1 direction=backward time=0-100 device=1
collective rank=1 direction=backward payload=grads group=0 flow=5 bytes=1000 time=50-90
pause rank=0 time=100-9000
)");
  const auto recorded = recordedProgram(*trace, 0, 0);
  ASSERT_TRUE(recorded.usable()) << recorded.lacks.front();
  // 50 before and 10 after it, which takes 1,200 as above.
  EXPECT_EQ(replay(recorded.program, hardware(1, 0.1)).endNs(), 50 + 1200 + 10);
}

TEST(ClockRecordedTest, RejectsStagesOfTwoClocks) {
  EXPECT_NE(lackOf(R"(
run cp=1 cores=2
attend rank=0 layer=0 stage=0 source=0 time=0-100 device=1
project rank=0 layer=0 time=100-150 cpu=50
)")
                .find("its clock was recorded for some stages only"),
            std::string::npos);
}

TEST(ClockRecordedTest, PausesAndVerificationTakeNoTime) {
  const auto trace = makeTrace(R"(
run cp=1 cores=2
embed rank=0 time=0-100 cpu=90
pause rank=0 time=100-90000
verify rank=0 time=90000-95000 cpu=5000
loss rank=0 time=95010-95020 cpu=7
)");
  const auto recorded = recordedProgram(*trace, 0, 0);
  ASSERT_TRUE(recorded.usable());
  EXPECT_EQ(recorded.outside_ns, 10);  // 10 between verification and loss
  EXPECT_EQ(replay(recorded.program, {}).endNs(), 90 + 10 + 7);
  EXPECT_EQ(recorded.recorded_ns, 95020 - 89900 - 5000);
}

TEST(ClockRecordedTest, ReplaysSeveralSteps) {
  const auto trace = makeTrace(R"(
run cp=1 cores=1
embed rank=0 step=3 time=0-100 cpu=40
embed rank=0 step=4 time=100-200 cpu=50
embed rank=0 step=5 time=200-300 cpu=60
)");
  EXPECT_EQ(recordedSteps(*trace), (std::vector<std::int32_t>{3, 4, 5}));
  const auto recorded = recordedProgram(*trace, 4, 5);
  const ModelTimeline timeline = replay(recorded.program, {});
  EXPECT_EQ(timeline.step_end_ns,
            (std::vector<std::pair<std::int32_t, std::int64_t>>{{4, 50}, {5, 110}}));
  EXPECT_EQ(timeline.stepNs(), 55);
}

TEST(ClockRecordedTest, NamesWhatARecordingLacks) {
  const std::string no_cpu = [] {
    std::string text = kRing;
    for (const char* cpu : {" cpu=1000", " cpu=300", " cpu=4000"}) text = without(text, cpu);
    return text;
  }();
  EXPECT_NE(lackOf(no_cpu).find("no CPU time"), std::string::npos) << lackOf(no_cpu);
  EXPECT_NE(lackOf(without(kRing, " exchange=1")).find("number of its exchange"),
            std::string::npos);
  EXPECT_NE(lackOf(without(kRing, " flow=11")).find("which send belongs"), std::string::npos);
  EXPECT_NE(lackOf("run cp=2 cores=1\nattend rank=0 time=0-5 cpu=4\nattend rank=1 time=0-5 cpu=4")
                .find("no messages"),
            std::string::npos);
  EXPECT_NE(lackOf("run cp=2 cores=1\nattend rank=0 time=0-5 cpu=4").find("1 rank recorded no"),
            std::string::npos);
  EXPECT_NE(lackOf(std::string(kRing) + "end dropped=7").find("7 events dropped"),
            std::string::npos);
  EXPECT_NE(lackOf("run cp=1").find("no events"), std::string::npos);
}

TEST(ClockRecordedTest, AMessageWithOneEndNamesItsPlace) {
  std::string text = kRing;
  const auto at = text.find("send rank=1");
  text.erase(at, text.find('\n', at) - at);
  const std::string lack = lackOf(text);
  EXPECT_NE(lack.find("1 message recorded at one end only"), std::string::npos) << lack;
  EXPECT_NE(lack.find("rank 0 receives from rank 1 at step 0 › layer 0"), std::string::npos)
      << lack;
}

}  // namespace
}  // namespace ringscope::test
