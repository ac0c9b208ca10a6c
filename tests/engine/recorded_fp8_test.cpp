// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/kernels/fp8.h"
#include "traces/analysis/verify/recompute/fp8.h"

namespace ringscope::engine {
namespace {

constexpr double kNan = 12345.5;

std::vector<double> listed(const at::Tensor& t) {
  // NaN does not equal NaN, so it is replaced by a number.
  const at::Tensor wide = at::nan_to_num(t.to(at::kDouble), kNan).contiguous();
  return {wide.const_data_ptr<double>(), wide.const_data_ptr<double>() + wide.numel()};
}

TEST(RecordedFp8Test, ARecordingIsRoundedAsTheRunRoundedIt) {
  at::manual_seed(3);
  const std::pair<at::ScalarType, traces::DType> types[] = {
      {at::kFloat, traces::DType::kFloat32},
      {at::kDouble, traces::DType::kFloat64},
      {at::kBFloat16, traces::DType::kBFloat16},
      {at::kHalf, traces::DType::kFloat16}};
  for (const auto& [type, recorded_in] : types)
    for (const double size : {1e-3, 1.0, 30.0}) {
      at::Tensor x = at::randn({500, 24}, at::kDouble) * size;
      x[3].zero_();
      x[4] *= at::exp2(-at::arange(24, at::kDouble));  // down to subnormal numbers
      x[5].fill_(-size);
      x[6] *= 1e3;
      x[6][2] = NAN;
      x = x.to(type);
      std::vector<double> rows = listed(x);
      for (double& value : rows)
        if (value == kNan) value = NAN;
      traces::roundRowsToFp8(rows, 24, recorded_in);
      for (double& value : rows)
        if (std::isnan(value)) value = kNan;
      EXPECT_EQ(rows, listed(roundedToFp8(x))) << toString(type) << " of size " << size;
    }
}

TEST(RecordedFp8Test, NoRowsAreNoError) {
  std::vector<double> none;
  traces::roundRowsToFp8(none, 8, traces::DType::kFloat32);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace ringscope::engine
