// SPDX-License-Identifier: Apache-2.0
// The floors of kernels and transfers, the limits of a step, and ties between strategies.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/clock_cases.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/clock/recorded_program.h"
#include "traces/analysis/clock/report.h"
#include "traces/analysis/clock/stage_work.h"
#include "traces/format/core/error.h"

namespace ringscope::test {
namespace {

using namespace traces;

StepLimits caseLimits(const ClockCase& c) {
  const Program program = plannedProgram(c.run, c.sizes, c.device);
  return stepLimits(program, c.hardware, replay(program, c.hardware));
}

TEST(ClockLimitsTest, AnInfinitelyFastDeviceStillStartsItsKernels) {
  ClockCase c = clockCase(1);
  c.hardware.compute_scale = 1e9;
  EXPECT_LE(replayed(c).endNs(), 1) << "without a floor a step takes nothing";
  c.hardware.floors.kernel_us = 2;
  // Embedding 1 + 1, projections 6 + 9, attention 1 + 3, MLP 7 + 11, loss 3 + 4, gradients 2, clip
  // 2, optimizer 1; forward + backward.
  const int kernels = 2 + 15 + 4 + 18 + 7 + 2 + 2 + 1;
  EXPECT_EQ(replayed(c).endNs(), kernels * 2000);
  EXPECT_EQ(caseLimits(c).boundBy(), Limit::kLaunch);
  EXPECT_EQ(caseLimits(c).share(Limit::kLaunch), 1);
}

TEST(ClockLimitsTest, AFloorBelowTheWorkHasNoEffect) {
  ClockCase c = clockCase(4);
  const std::int64_t without = replayed(c).endNs();
  c.hardware.floors.kernel_us = 1e-6;  // a thousandth of a nanosecond
  EXPECT_EQ(replayed(c).endNs(), without);
}

TEST(ClockLimitsTest, RecomputingAddsTheKernelsOfItsLayer) {
  ClockCase c = clockCase(1);
  c.hardware.compute_scale = 1e9;
  c.hardware.floors.kernel_us = 1;
  const std::int64_t without = replayed(c).endNs();
  c.run.recompute = true;
  EXPECT_EQ(replayed(c).endNs(), without + (6 + 7) * 1000);
}

TEST(ClockLimitsTest, ATransferTakesAtLeastItsFloor) {
  // A hop takes 2,500; a floor of 10,000 counts from when both its ends have posted it.
  ClockCase c = clockCase(4);
  c.hardware.floors.collective_us = 10;
  EXPECT_EQ(ofLayer(replayed(c), 0, Direction::kForward).exposed_ns, 3 * (10'000 - 1000));
  const StepLimits limits = caseLimits(c);
  EXPECT_EQ(limits.boundBy(), Limit::kLink);
  EXPECT_EQ(limits.link_fixed_ns, 7 * 10'000 + 6 * 500)
      << "seven hops at the floor, six steps of the gradients' all-reduce";
  c.hardware.floors.collective_us = 1;
  EXPECT_EQ(ofLayer(replayed(c), 0, Direction::kForward).exposed_ns, 3 * (2500 - 1000));
}

TEST(ClockLimitsTest, AFloorDoesNotOccupyTheLink) {
  // Three messages leave after each other, 2,000 ns each, and the last arrives at 6,500.
  ClockCase c = clockCase(4, Strategy::kAllGather);
  c.hardware.floors.collective_us = 6.5;
  EXPECT_EQ(ofLayer(replayed(c), 0, Direction::kForward).exposed_ns, 6500);
}

TEST(ClockLimitsTest, CollectivesOfOneRankHaveNoFloor) {
  ClockCase c = clockCase(1);
  c.hardware.floors.collective_us = 1000;
  EXPECT_EQ(replayed(c).endNs(), 1000 + 2000);
}

TEST(ClockLimitsTest, LimitsAddUpToTheCriticalPath) {
  ClockCase c = clockCase(4);
  const StepLimits slow_link = caseLimits(c);
  EXPECT_EQ(slow_link.total(), replayed(c).endNs());
  EXPECT_EQ(slow_link.boundBy(), Limit::kLink);
  EXPECT_EQ(limitTitle(slow_link), "link-bound");
  c.hardware.link.gigabytes_per_second = 0;
  c.hardware.link.latency_us = 0;
  const StepLimits quick_link = caseLimits(c);
  EXPECT_EQ(quick_link.share(Limit::kCompute), 1);
  EXPECT_EQ(describe(quick_link), "Compute-bound: compute takes 100 % of the critical path.");
  c.device.memory_bytes = 1e6;
  EXPECT_EQ(caseLimits(c).boundBy(), Limit::kMemory);
}

TEST(ClockLimitsTest, ALimitNeedsHalfOfThePath) {
  StepLimits limits;
  EXPECT_EQ(describe(limits), "Nothing takes time in this step.");
  EXPECT_EQ(limitVerdict(limits), "nothing takes time");
  EXPECT_FALSE(limits.boundBy());
  limits.ns = {50, 50, 0, 0, 0};
  EXPECT_FALSE(limits.boundBy()) << "each has half";
  EXPECT_EQ(describe(limits),
            "Bound by no single limit: kernels at their floor take 50 % of the critical path, "
            "compute 50 %.");
  EXPECT_EQ(limitVerdict(limits), "bound by no single limit");
  limits.ns = {51, 0, 0, 0, 49};
  EXPECT_EQ(limitVerdict(limits), "launch-bound (51 % of the critical path)");
}

TEST(ClockLimitsTest, RecordedStagesHaveAsManyKernelsAsPlannedStages) {
  std::string text = "run cp=1 cores=1\n";
  double kernels = 0;
  int time = 0;
  for (const EventKind kind :
       {EventKind::kEmbed, EventKind::kProject, EventKind::kAttend, EventKind::kMerge,
        EventKind::kFeedForward, EventKind::kLoss, EventKind::kOptimizer})
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      text += std::string(name(kind)) + " rank=0 layer=0 direction=" + name(direction) +
              " cpu=1 time=" + std::to_string(time) + "-" + std::to_string(time + 5) + "\n";
      kernels += stageKernels(kind, direction, false);
      time += 10;
    }
  const RecordedProgram recorded = recordedProgram(*makeTrace(text), 0, 0);
  Hardware hardware;
  hardware.compute_scale = 1e6;
  hardware.floors.kernel_us = 1;
  const ModelTimeline timeline = replay(recorded.program, hardware);
  EXPECT_EQ(timeline.endNs(), static_cast<std::int64_t>(kernels) * 1000);
  EXPECT_EQ(stepLimits(recorded.program, hardware, timeline).boundBy(), Limit::kLaunch);
  hardware.compute_scale = 1;
  hardware.floors = {};
  EXPECT_EQ(stepLimits(recorded.program, hardware, replay(recorded.program, hardware)).boundBy(),
            Limit::kWork)
      << "a recording does not tell compute from memory";
}

TEST(ClockLimitsTest, AStageThatHoldsACollectiveKeepsItsKernels) {
  const auto recorded = recordedProgram(*makeTrace(R"(
run cp=2 cores=2
group dp_cp 0,1
grad_sync rank=0 direction=backward time=0-100 cpu=600
collective rank=0 direction=backward payload=grads group=0 flow=5 bytes=1000 time=50-90
grad_sync rank=1 direction=backward time=0-100 cpu=0
collective rank=1 direction=backward payload=grads group=0 flow=5 bytes=1000 time=60-90
clip rank=1 direction=backward time=100-110 cpu=1
)"),
                                        0, 0);
  const auto kernels = [&](std::size_t rank, EventKind kind) {
    double sum = 0;
    for (const Program::Op& op : recorded.program.ranks[rank].ops)
      if (op.event != Program::kNone && recorded.events[rank][op.event].kind == kind)
        sum += op.kernels;
    return sum;
  };
  EXPECT_NEAR(kernels(0, EventKind::kGradSync), 2, 1e-6);
  EXPECT_NEAR(kernels(1, EventKind::kGradSync), 2, 1e-6) << "though it took no time";
  EXPECT_EQ(kernels(0, EventKind::kCollective), 0);
}

std::vector<Prediction> withSteps(const std::vector<double>& steps_ms) {
  std::vector<Prediction> all;
  for (const double ms : steps_ms) {
    Prediction& p = all.emplace_back();
    p.title = "s" + std::to_string(all.size());
    p.step_ns = ms * 1e6;
  }
  return all;
}

using Indices = std::vector<std::size_t>;

TEST(ClockLimitsTest, SimilarStepsAreTied) {
  EXPECT_EQ(quickestStrategies(withSteps({5200, 5199, 5201}), 0.05).tied, (Indices{1, 0, 2}));
  EXPECT_EQ(quickestStrategies(withSteps({100, 106}), 0.05).tied, Indices{0});
  EXPECT_EQ(quickestStrategies(withSteps({100, 106}), 0.1).tied, (Indices{0, 1}));
  EXPECT_EQ(quickestStrategies(withSteps({0, 0}), 0).tied, (Indices{0, 1}));
  EXPECT_TRUE(quickestStrategies({}, 0.05).tied.empty());
  const Quickest printed_alike = quickestStrategies(withSteps({0.00101, 0.00109}), 0.01);
  EXPECT_EQ(printed_alike.tied, Indices{0}) << "1.0 and 1.1 µs";
  EXPECT_EQ(quickestStrategies(withSteps({0.00096, 0.001}), 0.01).tied, Indices{0});
  EXPECT_EQ(quickestStrategies(withSteps({1.06, 1.14}), 0.01).tied, (Indices{0, 1}))
      << "both 1.1 ms";
  const Quickest clear = quickestStrategies(withSteps({120, 100, 300}), 0.05);
  EXPECT_EQ(clear.tied, Indices{1});
  EXPECT_EQ(clear.next, 0u);
  EXPECT_NEAR(clear.ahead, 0.2, 1e-9);
}

PlannedAnswer answerWithSteps(const std::vector<double>& steps_ms) {
  PlannedAnswer answer;
  answer.strategies = withSteps(steps_ms);
  answer.asked = answer.strategies.front();
  return answer;
}

TEST(ClockLimitsTest, AReportNamesTiedStrategies) {
  const auto says = [](const std::vector<double>& steps, const std::string& words) {
    const std::string text = toText(answerWithSteps(steps));
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  says({5200, 5201},
       "The model cannot tell these strategies apart here: s1; s2 have steps that differ by 0.02 % "
       "(it can tell 5 %).");
  says({5200, 5201, 9000}, "it cannot tell them apart: s1; s2 have steps that differ by 0.02 %");
  says({100, 120}, "By the model s1 would be the quickest here; the next, s2, takes 20 % longer.");
  EXPECT_EQ(toText(answerWithSteps({100})).find("quickest"), std::string::npos)
      << "there is no other";
  EXPECT_TRUE(toJson(answerWithSteps({100}))["quickest"].is_null());
  EXPECT_EQ(toJson(answerWithSteps({5200, 5201}))["quickest"]["titles"].size(), 2u);
}

TEST(ClockLimitsTest, ACalibrationTiesStepsWithinItsSpread) {
  PlannedAnswer answer = answerWithSteps({100, 112});
  answer.assumptions.calibration.emplace();
  answer.asked.spread = 0.15;
  EXPECT_EQ(answer.uncertainty(), 0.15);
  const std::string text = toText(answer);
  EXPECT_NE(text.find("cannot tell these strategies apart"), std::string::npos);
  EXPECT_NE(text.find("100 ms (±15 %, from the spread of the recorded stages)"), std::string::npos);
  answer.asked.spread = 0.01;
  EXPECT_EQ(answer.uncertainty(), 0.05) << "no finer than what is printed";
}

TEST(ClockLimitsTest, WithoutHopsNothingIsHidden) {
  ClockCase c = clockCase(1);
  PlannedAnswer answer;
  answer.sizes = c.sizes;
  answer.asked = predict(c.run, c.sizes, c.device, c.hardware);
  answer.sweep = sweepLengths(c.run, c.sizes, c.device, c.hardware, 16, 64);
  EXPECT_FALSE(answer.sweep->ring_has_hops);
  EXPECT_FALSE(answer.sweep->ring_hides_forward_at);
  EXPECT_NE(toText(answer).find("No ring has forward hops that take time here"), std::string::npos);
  c = clockCase(4);
  c.hardware.link = {"free", 0, 0, true, true};
  EXPECT_FALSE(sweepLengths(c.run, c.sizes, c.device, c.hardware, 64, 64).ring_has_hops);
  EXPECT_FALSE(hiddenShare(0, 0)) << "a share of nothing";
}

}  // namespace
}  // namespace ringscope::test
