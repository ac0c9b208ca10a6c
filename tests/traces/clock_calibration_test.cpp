// SPDX-License-Identifier: Apache-2.0
// The costs of stages are fitted to recordings whose true costs are known. Other runs on the same
// device are then predicted correctly.
#include <gtest/gtest.h>

#include "tests/support/clock_cases.h"
#include "tests/support/expect_error.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/clock/calibration.h"
#include "traces/analysis/clock/prediction.h"
#include "traces/analysis/clock/report.h"

namespace ringscope::test {
namespace {

using namespace traces;

TEST(StageCostTest, ReproducesTheSamplesThatItIsFittedTo) {
  std::vector<StageSample> samples;
  for (const double flops : {1e6, 3e6, 9e6})
    for (const double stages : {1.0, 4.0})
      samples.push_back({stages, flops, 0, 2e-6 * stages + 3e-11 * flops});
  const StageCost cost = fitStageCost(samples);
  EXPECT_NEAR(cost.fixed, 2e-6, 1e-12);
  EXPECT_NEAR(cost.per_flop, 3e-11, 1e-17);
  EXPECT_EQ(cost.per_byte, 0);
}

TEST(StageCostTest, IsNeverNegative) {
  const StageCost cost = fitStageCost({{1, 1e6, 0, 1e-3}, {1, 2e6, 0, 3e-3}, {1, 4e6, 0, 7e-3}});
  EXPECT_EQ(cost.fixed, 0) << "a line through these would begin below 0";
  EXPECT_GT(cost.per_flop, 0);
}

TEST(StageCostTest, NoSamplesGiveNoCost) {
  for (const std::vector<StageSample>& none : {std::vector<StageSample>{}, {{1, 1, 1, 0}}}) {
    const StageCost cost = fitStageCost(none);
    EXPECT_EQ(cost.fixed + cost.per_flop + cost.per_byte, 0);
  }
}

/// A device with a cost of its own for every stage, and a link.
struct TrueDevice {
  DeviceSpeed speed;
  Hardware hardware;

  TrueDevice() {
    MeasuredDevice& measured = speed.measured.emplace();
    double each = 1;
    for (const Direction direction : {Direction::kForward, Direction::kBackward})
      for (const EventKind kind : {EventKind::kAttend, EventKind::kMerge, EventKind::kEmbed,
                                   EventKind::kProject, EventKind::kFeedForward, EventKind::kLoss,
                                   EventKind::kGradSync, EventKind::kClip, EventKind::kOptimizer}) {
        const bool multiplies = kind != EventKind::kMerge && kind != EventKind::kEmbed &&
                                kind != EventKind::kGradSync && kind != EventKind::kClip &&
                                kind != EventKind::kOptimizer;
        measured.stages[{kind, direction}] = {each * 1e-5, multiplies ? each * 1e-10 : 0,
                                              multiplies ? 0 : each * 1e-9};
        each += 0.1;
      }
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      StageCost& attention = measured.stages[{EventKind::kAttend, direction}];
      attention.per_byte = 2e-10;
      attention.per_score = 3e-9;
    }
    measured.between = {40e-6, 3e-6, 1e-11, 7e-6, {4e-9, 2e-9, 1e-9}};
    hardware.link = {"true", 5, 20};
    hardware.tp_link = {"true", 3, 60};
    hardware.overlap = false;
  }

  /// Returns what a recording of the plan contains, with each stage, wait and message at its time.
  RecordedProgram record(const RunSpec& run, const ModelSizes& sizes) const {
    RecordedProgram recorded;
    recorded.program = plannedProgram(run, sizes, speed);
    const ModelTimeline timeline = replay(recorded.program, hardware);
    for (std::size_t r = 0; r < recorded.program.ranks.size(); ++r) {
      std::vector<Event>& events = recorded.events.emplace_back();
      for (std::size_t e = 0; e < recorded.program.ranks[r].events.size(); ++e) {
        const Program::Happening& happening = recorded.program.ranks[r].events[e];
        Event event;
        event.kind = happening.kind;
        event.place = happening.place;
        event.payload = happening.payload;
        event.bytes = happening.bytes;
        event.begin_ns = timeline.spans[r][e].begin_ns;
        event.end_ns = timeline.spans[r][e].end_ns;
        events.push_back(event);
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

TEST(CalibrationTest, PredictsOtherRunsOfTheDeviceThatWasRecorded) {
  const TrueDevice device;
  Calibrator calibrator;
  for (const Sized& s :
       {sized(1, 64, 32), sized(2, 64, 64), sized(2, 256, 32), sized(2, 128, 128),
        sized(1, 512, 64), sized(2, 256, 128, Strategy::kUlysses),
        sized(2, 128, 32, Strategy::kUlysses), sized(2, 128, 64, Strategy::kAllGather),
        sized(2, 256, 96, Strategy::kAllGather)})
    calibrator.add(s.run, s.sizes, {device.record(s.run, s.sizes)});
  const Calibration found = calibrator.fit(false);
  EXPECT_EQ(found.recordings, 9);
  EXPECT_LT(found.worst_error, 0.01);
  ASSERT_TRUE(found.link);
  EXPECT_NEAR(found.link->latency_us, 20, 1);
  EXPECT_NEAR(found.link->gigabytes_per_second, 5, 0.3);
  Hardware hardware;
  hardware.link = *found.link;
  hardware.overlap = false;
  for (const Sized& other :
       {sized(4, 512, 64), sized(2, 1024, 96), sized(1, 128, 256),
        sized(2, 512, 256, Strategy::kUlysses), sized(2, 512, 128, Strategy::kAllGather)}) {
    const double is = predict(other.run, other.sizes, found.device, hardware).step_ns;
    const double should = predict(other.run, other.sizes, device.speed, device.hardware).step_ns;
    EXPECT_NEAR(is, should, 0.02 * should) << other.run.cp << " ranks, " << other.run.seq_len;
  }
}

TEST(CalibrationTest, TensorParallelismHasALinkOfItsOwn) {
  const TrueDevice device;
  Calibrator calibrator;
  std::vector<Sized> runs = {sized(1, 64, 64), sized(1, 256, 32), sized(2, 128, 64),
                             sized(1, 512, 128)};
  for (Sized& s : runs) {
    s.run.tp = 2;
    calibrator.add(s.run, s.sizes, {device.record(s.run, s.sizes)});
  }
  const Calibration found = calibrator.fit(false);
  ASSERT_TRUE(found.tp_link);
  EXPECT_NEAR(found.tp_link->latency_us, 60, 1);
  EXPECT_NEAR(found.tp_link->gigabytes_per_second, 3, 0.1);
  EXPECT_LT(found.worst_error, 0.01);
  Calibrator of_four;
  for (Sized& s : runs) {
    s.run.tp = 4;
    of_four.add(s.run, s.sizes, {device.record(s.run, s.sizes)});
  }
  EXPECT_NEAR(of_four.fit(false).tp_link->latency_us, 60, 3) << "most of them go by a tree";
  EXPECT_LT(of_four.fit(false).worst_error, 0.01);
  Calibrator without;
  const Sized ring = sized(2, 64, 32);
  without.add(ring.run, ring.sizes, {device.record(ring.run, ring.sizes)});
  EXPECT_FALSE(without.fit(false).tp_link);
}

TEST(CalibrationTest, WithoutMessagesTheSyncIsOnTheLinkOfActivations) {
  TrueDevice device;
  device.hardware.link = *device.hardware.tp_link;
  Calibrator calibrator;
  for (Sized s : {sized(1, 64, 64), sized(1, 256, 32), sized(1, 512, 128)}) {
    s.run.tp = s.run.dp = s.run.batch = 2;
    calibrator.add(s.run, s.sizes, {device.record(s.run, s.sizes)});
  }
  const Calibration found = calibrator.fit(false);
  ASSERT_TRUE(found.link);
  EXPECT_EQ(found.link, found.tp_link);
  EXPECT_LT(found.worst_error, 0.01);
  ModelAssumptions assumed;
  assumed.calibration = found;
  assumed.hardware.link = *found.link;
  for (const std::string& sentence : assumed.sentences())
    EXPECT_EQ(sentence.find("a hop takes"), std::string::npos) << "there was none: " << sentence;
}

TEST(CalibrationTest, APackingThatNoRecordingHasTakesAsLongAsTheSlowest) {
  BetweenSample sample;
  sample.events = 10;
  std::vector<BetweenSample> samples;
  for (const double bytes : {0.0, 1e6, 3e6}) {
    sample.packed[static_cast<std::size_t>(Packing::kRing)] = bytes;
    sample.seconds = 1e-3 + bytes * 2e-9;
    samples.push_back(sample);
  }
  const BetweenCost cost = fitBetweenCost(samples);
  for (const Packing packing : {Packing::kHeads, Packing::kGathered, Packing::kRing})
    EXPECT_NEAR(cost.ofPacking(packing), 2e-9, 1e-11);
}

TEST(CalibrationTest, AStageInWhichNothingWasDoneIsNoStage) {
  const TrueDevice device;
  Calibrator calibrator;
  for (const Sized& s :
       {sized(2, 64, 32, Strategy::kUlysses), sized(2, 256, 64, Strategy::kUlysses)})
    calibrator.add(s.run, s.sizes, {device.record(s.run, s.sizes)});
  const Calibration found = calibrator.fit(true);
  const Sized ring = sized(2, 64, 32);
  EXPECT_ERROR(predict(ring.run, ring.sizes, found.device, {}), ErrorCode::kUsage,
               "no recording to calibrate by has a stage 'merge' in forward");
}

TEST(CalibrationTest, OrderedHopsAreNotPlanned) {
  const TrueDevice device;
  Sized s = sized(2, 64, 32);
  const RecordedProgram recorded = device.record(s.run, s.sizes);
  s.run.p2p = PointToPoint::kOrdered;
  Calibrator calibrator;
  EXPECT_ERROR(calibrator.add(s.run, s.sizes, {recorded}), ErrorCode::kInput, "--p2p ordered");
}

TEST(CalibrationTest, StagesThatNoRecordingHasCannotBePredicted) {
  const TrueDevice device;
  Calibrator calibrator;
  const Sized alone = sized(1, 64, 32);
  calibrator.add(alone.run, alone.sizes, {device.record(alone.run, alone.sizes)});
  const Calibration found = calibrator.fit(true);
  EXPECT_FALSE(found.link) << "one rank has no messages";
  const Sized ring = sized(2, 64, 32);
  EXPECT_ERROR(predict(ring.run, ring.sizes, found.device, {}), ErrorCode::kUsage,
               "no recording to calibrate by has a stage 'merge'");
}

TEST(CalibrationTest, RanksThatSharedCoresSayNothingOfADevice) {
  const TrueDevice device;
  const Sized s = sized(2, 64, 32);
  RecordedProgram shared = device.record(s.run, s.sizes);
  shared.own_cores = false;
  Calibrator calibrator;
  EXPECT_ERROR(calibrator.add(s.run, s.sizes, {shared}), ErrorCode::kInput,
               "its ranks shared cores");
  shared.lacks = {"it holds no events"};
  EXPECT_ERROR(calibrator.add(s.run, s.sizes, {shared}), ErrorCode::kInput, "it holds no events");
  EXPECT_ERROR(calibrator.add(s.run, s.sizes, {}), ErrorCode::kInput, "no training step");
  EXPECT_ERROR((void)calibrator.fit(true), ErrorCode::kInput, "no recording to calibrate by");
}

TEST(CalibrationTest, RecordingsInOtherTypesDoNotGoTogether) {
  const TrueDevice device;
  Calibrator calibrator;
  Sized s = sized(2, 64, 32);
  const auto add = [&] { calibrator.add(s.run, s.sizes, {device.record(s.run, s.sizes)}); };
  add();
  s.run.dtype = DType::kBFloat16;
  EXPECT_ERROR(add(), ErrorCode::kInput,
               "it computes in bfloat16, and those named before it in float32");
  s.run.dtype = DType::kFloat32;
  s.run.fp8 = true;
  EXPECT_ERROR(add(), ErrorCode::kInput, "it computes in float32 with FP8");
  s.run.fp8 = false;
  s.run.device = Device::kCuda;
  EXPECT_ERROR(add(), ErrorCode::kInput, "on a GPU");
  EXPECT_EQ(calibrator.fit(false).recordings, 1);
}

TEST(CalibrationTest, ARecordingMustNameItsConfiguration) {
  const auto trace = traceOf("run cp=2 cores=2\n");
  EXPECT_ERROR((void)recordedModelSizes(*trace), ErrorCode::kInput,
               "record a run with --model DIR");
}

}  // namespace
}  // namespace ringscope::test
