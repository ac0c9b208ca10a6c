// SPDX-License-Identifier: Apache-2.0
// Costs of stages, fitted to recordings of a device whose true costs are known.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/clock_cases.h"
#include "tests/support/expect_error.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/clock/calibration.h"
#include "traces/analysis/clock/prediction.h"
#include "traces/analysis/clock/report.h"

namespace ringscope::test {
namespace {

using namespace traces;

CostSample sample(double stages, double flops, double bytes, double seconds) {
  return {{flops, bytes, stages}, seconds};
}

TEST(StageCostTest, RecoversTheCostOfSamplesWithoutNoise) {
  std::vector<CostSample> samples;
  for (const double flops : {1e6, 3e6, 9e6})
    for (const double stages : {1.0, 4.0})
      for (const double bytes : {1e5, 7e5})
        samples.push_back(
            sample(stages, flops, bytes, 2e-6 * stages + 3e-11 * flops / 2 + 5e-11 * bytes));
  const StageCost cost = fitStageCost(samples);
  EXPECT_NEAR(cost.fixed, 2e-6, 1e-9);
  EXPECT_NEAR(cost.per_multiply_add, 3e-11, 1e-14);
  EXPECT_NEAR(cost.per_byte, 5e-11, 1e-14);
  ASSERT_TRUE(cost.spread);
  EXPECT_LT(*cost.spread, 1e-6);
}

TEST(StageCostTest, IsNeverNegative) {
  const StageCost cost =
      fitStageCost({sample(1, 1e6, 0, 1e-3), sample(1, 2e6, 0, 3e-3), sample(1, 4e6, 0, 7e-3)});
  EXPECT_EQ(cost.fixed, 0) << "a line through these would begin below 0";
  EXPECT_GT(cost.per_multiply_add, 0);
}

TEST(StageCostTest, SpreadIsTheDeviationRelativeToTheRecordedTimes) {
  const StageCost cost = fitStageCost({sample(1, 0, 0, 0.9), sample(1, 0, 0, 1.1)});
  EXPECT_NEAR(cost.fixed, 1, 0.02);
  EXPECT_NEAR(cost.spread.value(), std::sqrt(2) * 0.1, 0.01) << "two times less one cost";
}

TEST(StageCostTest, AsManyCostsAsTimesHaveNoSpread) {
  EXPECT_FALSE(fitStageCost({sample(1, 0, 0, 1)}).spread) << "one line fits every time";
}

TEST(StageCostTest, SamplesWithoutTimeGiveNoCost) {
  for (const std::vector<CostSample>& none :
       {std::vector<CostSample>{}, std::vector<CostSample>{sample(1, 1, 1, 0)}}) {
    const StageCost cost = fitStageCost(none);
    EXPECT_EQ(cost.fixed + cost.per_multiply_add + cost.per_byte, 0);
  }
}

/// A device whose every stage has its own cost, and two links.
struct TrueDevice {
  DeviceSpeed speed;
  Hardware hardware;

  TrueDevice() {
    double each = 1;
    for (const Direction direction : {Direction::kForward, Direction::kBackward})
      for (const EventKind kind : {EventKind::kAttend, EventKind::kMerge, EventKind::kEmbed,
                                   EventKind::kProject, EventKind::kFeedForward, EventKind::kLoss,
                                   EventKind::kGradSync, EventKind::kClip, EventKind::kOptimizer}) {
        speed.measured[{kind, direction}] = {each * 1e-5, each * 1e-9, each * 1e-10};
        each += 0.1;
      }
    hardware.link = {"true", 5, 20};
    hardware.overlap = false;
  }

  /// Returns a recording of the plan, in which each stage, wait and message takes its true time.
  RecordedProgram record(const RunSpec& run, const ModelSizes& sizes) const {
    RecordedProgram recorded;
    recorded.program = plannedProgram(run, sizes, speed);
    const ModelTimeline timeline = replay(recorded.program, hardware);
    for (std::size_t r = 0; r < recorded.program.ranks.size(); ++r) {
      std::vector<Event>& events = recorded.events.emplace_back();
      for (std::size_t e = 0; e < recorded.program.ranks[r].events.size(); ++e) {
        const Program::Happening& happening = recorded.program.ranks[r].events[e];
        Event& event = events.emplace_back();
        event.kind = happening.kind;
        event.place = happening.place;
        event.payload = happening.payload;
        event.bytes = happening.bytes;
        event.begin_ns = timeline.spans[r][e].begin_ns;
        event.end_ns = timeline.spans[r][e].end_ns;
      }
    }
    recorded.recorded_ns = std::llround(timeline.stepNs());
    recorded.own_cores = true;
    return recorded;
  }
};

struct Sized {
  RunSpec run;
  ModelSizes sizes;
};

Sized sized(int cp, std::int64_t length, std::int64_t hidden, Strategy strategy = Strategy::kRing) {
  Sized s;
  s.run.cp = cp;
  s.run.seq_len = length;
  s.run.strategy = strategy;
  s.run.dtype = DType::kFloat32;
  s.run.batch = 1;
  s.sizes = {"case", 2, hidden, 4, 2, hidden / 4, 3 * hidden, 64, false};
  return s;
}

void record(Calibrator& calibrator, const Sized& s, const TrueDevice& device = {}) {
  calibrator.add(s.run, s.sizes, {device.record(s.run, s.sizes)});
}

TEST(CalibrationTest, PredictsOtherRunsOfTheRecordedDevice) {
  const TrueDevice device;
  Calibrator calibrator;
  for (const Sized& s :
       {sized(1, 64, 32), sized(2, 64, 64), sized(2, 256, 32), sized(2, 128, 128),
        sized(1, 512, 64), sized(2, 256, 128, Strategy::kUlysses),
        sized(2, 128, 64, Strategy::kAllGather), sized(2, 256, 96, Strategy::kAllGather)})
    record(calibrator, s);
  const Calibration found = calibrator.fit();
  EXPECT_EQ(found.recordings, 8);
  ASSERT_TRUE(found.link);
  EXPECT_NEAR(found.link->latency_us, 20, 1);
  EXPECT_NEAR(found.link->gigabytes_per_second, 5, 0.3);
  Hardware hardware;
  hardware.link = *found.link;
  hardware.overlap = false;
  for (const Sized& other : {sized(4, 512, 64), sized(2, 1024, 96), sized(1, 128, 256),
                             sized(2, 512, 256, Strategy::kUlysses)}) {
    const Prediction predicted = predict(other.run, other.sizes, found.device, hardware);
    const double is = predicted.step_ns;
    EXPECT_LT(predicted.spread.value(), 0.02);
    const double should = predict(other.run, other.sizes, device.speed, device.hardware).step_ns;
    EXPECT_NEAR(is, should, 0.03 * should) << other.run.cp << " ranks, " << other.run.seq_len;
  }
}

TEST(CalibrationTest, TheLinkPredictsAllReduces) {
  TrueDevice device;
  Calibrator calibrator;
  for (Sized s : {sized(2, 512, 32), sized(2, 128, 64), sized(2, 64, 128)}) {
    s.run.tp = s.run.dp = s.run.batch = 2;
    record(calibrator, s, device);
  }
  const std::optional<Link> link = calibrator.fit().link;
  ASSERT_TRUE(link) << "hops alone say how quick all-reduces are";
  EXPECT_NEAR(link->gigabytes_per_second, 5, 0.3);
  Calibrator without_hops;
  Sized alone = sized(1, 64, 64);
  alone.run.tp = 2;
  record(without_hops, alone, device);
  EXPECT_FALSE(without_hops.fit().link);
}

/// Returns the step that one recorded step of a run predicts for the same run.
double selfPredictedNs(const Sized& s, const RecordedProgram& recorded) {
  Calibrator calibrator;
  calibrator.add(s.run, s.sizes, {recorded});
  return predict(s.run, s.sizes, calibrator.fit().device, {}).step_ns;
}

TEST(CalibrationTest, TimeBetweenStagesCountsAsTheNextStage) {
  const Sized s = sized(1, 64, 32);
  const RecordedProgram as_planned = TrueDevice().record(s.run, s.sizes);
  RecordedProgram with_gaps = as_planned;
  auto& ops = with_gaps.program.ranks[0].ops;
  ops.insert(ops.begin() + 1,
             {5'000'000, Program::kNone, Program::kNone, Program::Op::Kind::kWork});
  ops.push_back({7'000'000, Program::kNone, Program::kNone, Program::Op::Kind::kWork});
  EXPECT_NEAR(selfPredictedNs(s, with_gaps), selfPredictedNs(s, as_planned) + 12e6, 100);
}

TEST(CalibrationTest, CollectivesThatNoPlanHasCountAsTheNextStage) {
  const Sized s = sized(1, 64, 32);
  const RecordedProgram as_planned = TrueDevice().record(s.run, s.sizes);
  RecordedProgram with_loss = as_planned;
  Event& event = with_loss.events[0].emplace_back();
  event.kind = EventKind::kCollective;
  event.payload = Payload::kScalars;
  event.end_ns = 5'000'000;
  auto& ops = with_loss.program.ranks[0].ops;
  ops.insert(ops.begin() + 1, {0, static_cast<std::uint32_t>(with_loss.program.collectives.size()),
                               static_cast<std::uint32_t>(with_loss.events[0].size() - 1),
                               Program::Op::Kind::kCollective});
  with_loss.program.collectives.emplace_back();
  EXPECT_NEAR(selfPredictedNs(s, with_loss), selfPredictedNs(s, as_planned) + 5e6, 100);
}

TEST(CalibrationTest, StagesWithoutARecordingAreNotPredicted) {
  Calibrator alone;
  record(alone, sized(1, 64, 32));
  const Calibration found = alone.fit();
  EXPECT_FALSE(found.link) << "one rank has no messages";
  const Sized ring = sized(2, 64, 32);
  EXPECT_ERROR(predict(ring.run, ring.sizes, found.device, {}), ErrorCode::kUsage,
               "no recording to calibrate by has a stage 'merge' in forward");
}

TEST(CalibrationTest, OneRecordingHasNoSpread) {
  const Sized s = sized(1, 64, 32);
  Calibrator calibrator;
  record(calibrator, s);
  PlannedAnswer answer;
  answer.assumptions.calibration = calibrator.fit();
  answer.asked = predict(s.run, s.sizes, answer.assumptions.calibration->device, {});
  EXPECT_FALSE(answer.asked.spread);
  EXPECT_EQ(answer.uncertainty(), 1);
  EXPECT_NE(toText(answer).find("(with an unknown spread; name more recordings"),
            std::string::npos);
}

TEST(CalibrationTest, RejectsRecordingsThatSayNothingOfADevice) {
  Sized s = sized(2, 64, 32);
  RecordedProgram shared = TrueDevice().record(s.run, s.sizes);
  Calibrator calibrator;
  EXPECT_ERROR((void)calibrator.fit(), ErrorCode::kInput, "no recording to calibrate by");
  EXPECT_ERROR(calibrator.add(s.run, s.sizes, {}), ErrorCode::kInput, "no training step");
  s.run.p2p = PointToPoint::kOrdered;
  EXPECT_ERROR(calibrator.add(s.run, s.sizes, {shared}), ErrorCode::kInput, "--p2p ordered");
  s.run.p2p = PointToPoint::kBatched;
  shared.own_cores = false;
  EXPECT_ERROR(calibrator.add(s.run, s.sizes, {shared}), ErrorCode::kInput,
               "its ranks shared cores");
  shared.lacks = {"it holds no events"};
  EXPECT_ERROR(calibrator.add(s.run, s.sizes, {shared}), ErrorCode::kInput, "it holds no events");
}

TEST(CalibrationTest, RejectsRecordingsInDifferentTypes) {
  Calibrator calibrator;
  Sized s = sized(2, 64, 32);
  record(calibrator, s);
  s.run.dtype = DType::kBFloat16;
  EXPECT_ERROR(record(calibrator, s), ErrorCode::kInput,
               "it computes in bfloat16, and those named before it in float32");
  s.run.dtype = DType::kFloat32;
  s.run.fp8 = true;
  EXPECT_ERROR(record(calibrator, s), ErrorCode::kInput, "it computes in float32 with FP8");
  s.run.fp8 = false;
  s.run.device = Device::kCuda;
  EXPECT_ERROR(record(calibrator, s), ErrorCode::kInput, "on a GPU");
  EXPECT_EQ(calibrator.fit().recordings, 1);
}

TEST(CalibrationTest, ARecordingMustNameItsConfiguration) {
  const auto trace = makeTrace("run cp=2 cores=2\n");
  EXPECT_ERROR((void)recordedModelSizes(*trace), ErrorCode::kInput,
               "record a run with --model DIR");
}

}  // namespace
}  // namespace ringscope::test
