// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/rounding_limits.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/verify/error_measure.h"

namespace ringscope::engine {
namespace {

/// A parameter's gradient of 64 rows, one device's result of it, and the limits that follow.
struct JudgedGradient {
  at::Tensor exact = at::randn({64, 16}, at::kDouble);
  at::Tensor noise = 1e-4 * at::randn({64, 16}, at::kDouble);

  double ratioFor(const at::Tensor& error) const {
    traces::DiffRecord diff;
    measureRows(diff, exact + error,
                {{exact, parameterLimits(exact, (exact + noise).to(at::kFloat))}});
    return diff.ratio;
  }
};

TEST(ParameterLimitsTest, ARowThatIsLoudOnOneDeviceMayBeSoInTheRun) {
  at::manual_seed(4);
  JudgedGradient gradient;
  gradient.noise[9] *= 30;
  EXPECT_LT(gradient.ratioFor(gradient.noise), 1);
  at::Tensor elsewhere = gradient.noise.clone();
  elsewhere[40] = gradient.noise[9];
  EXPECT_GT(gradient.ratioFor(elsewhere), 1) << "a quiet row is held to what it and others are";
}

TEST(ParameterLimitsTest, ALuckyReferenceDeviceDoesNotAccuseTheRun) {
  at::manual_seed(4);
  JudgedGradient gradient;
  const at::Tensor error = gradient.noise.clone();
  gradient.noise.slice(0, 32, 64).mul_(0.05);  // half of all rows
  EXPECT_LT(gradient.ratioFor(error), 1);
}

TEST(ParameterLimitsTest, AnExactStepThatRoundsAsTheRunDoesIsAllowedFor) {
  at::manual_seed(4);
  const at::Tensor exact = at::randn({64, 16}, at::kDouble),
                   run = exact * (1 + 0x1p-53 * 20 * at::randn({64, 16}, at::kDouble).sign());
  traces::DiffRecord diff;
  measureRows(diff, run, {{exact, parameterLimits(exact, exact)}});
  EXPECT_LT(diff.ratio, 1);
  measureRows(diff, exact * (1 + 1e-13), {{exact, parameterLimits(exact, exact)}});
  EXPECT_GT(diff.ratio, 1);
}

TEST(ParameterLimitsTest, DetectsFifteenTimesTheDevicesErrorInEveryRow) {
  at::manual_seed(4);
  const JudgedGradient gradient;
  for (std::int64_t row = 0; row < 64; ++row) {
    at::Tensor error = at::zeros_like(gradient.noise);
    error[row] = 15e-4 * at::ones(16, at::kDouble);
    EXPECT_GT(gradient.ratioFor(error), 1) << row;
  }
}

}  // namespace
}  // namespace ringscope::engine
