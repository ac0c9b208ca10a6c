// SPDX-License-Identifier: Apache-2.0
// A wrong row is detected among other wrong rows, and a right run is not rejected.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/attend/attend_reference.h"
#include "engine/gate/gate.h"
#include "engine/kernels/fp8.h"
#include "engine/verify/error_measure.h"
#include "tests/engine/attend_config.h"

namespace ringscope::engine {
namespace {

AttendInput randomInput(std::int64_t length, std::int64_t width, at::ScalarType type) {
  AttendInput in;
  for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.dout})
    *t = at::randn({1, 2, length, width}).to(type);
  in.mask = Mask::causalMask();
  in.scale = 1 / std::sqrt(static_cast<double>(width));
  return in;
}

double ratioFor(const std::vector<traces::DiffRecord>& diffs, const std::string& tensor) {
  for (const auto& diff : diffs)
    if (diff.tensor == tensor) return diff.ratio;
  ADD_FAILURE() << "no verdict of " << tensor;
  return 0;
}

/// Returns the ratio of one result after its rows have been altered.
double ratioWith(const AttendInput& in, const AttendConfig& config, const std::string& tensor,
                 const std::function<void(at::Tensor&)>& alter) {
  Gate gate(config.cp);
  AttendOutcome outcome = attend(in, config, gate);
  for (const auto& diff : verifyAttend(in, outcome, config.fp8))
    EXPECT_LE(diff.ratio, 1) << diff.tensor << " before anything was altered";
  outcome.tensors.at(tensor) = outcome.tensors.at(tensor).clone();
  alter(outcome.tensors.at(tensor));
  return ratioFor(verifyAttend(in, outcome, config.fp8), tensor);
}

TEST(VerdictTest, SmallLateRowsCannotHideBehindLargeEarlyOnes) {
  at::manual_seed(1);
  const AttendInput in = randomInput(1024, 16, at::kBFloat16);
  const AttendConfig config = test::attendConfig(8, traces::Balance::kNone);
  for (const std::int64_t row : {0, 400, 900, 1023}) {
    const auto zeroed = [row](at::Tensor& t) { t.select(2, row).select(1, 1).zero_(); };
    for (const char* tensor : {"out", "dv", "dk"})
      EXPECT_GT(ratioWith(in, config, tensor, zeroed), 1) << tensor << " row " << row;
  }
}

TEST(VerdictTest, DetectsARowThatIsOnePercentTooLargeInBfloat16) {
  at::manual_seed(2);
  const AttendInput in = randomInput(256, 64, at::kBFloat16);
  const auto scaled = [](at::Tensor& t) { t.select(2, 200).mul_(1.02); };
  EXPECT_GT(ratioWith(in, test::attendConfig(4), "out", scaled), 1);
}

TEST(VerdictTest, Fp8IsComparedOnTheValuesThatItsProductsHad) {
  at::manual_seed(3);
  const AttendInput in = randomInput(256, 32, at::kBFloat16);
  AttendConfig config = test::attendConfig(4);
  config.fp8 = true;
  for (const std::int64_t row : {3, 255})
    EXPECT_GT(ratioWith(in, config, "out", [row](at::Tensor& t) { t.select(2, row).mul_(1.05); }),
              1)
        << row;
}

std::optional<double> quantisationOf(const AttendInput& in, const AttendOutcome& outcome, bool fp8,
                                     const std::string& tensor) {
  for (const auto& diff : verifyAttend(in, outcome, fp8))
    if (diff.tensor == tensor) return diff.quantisation;
  return std::nullopt;
}

/// Returns full attention of one head in fp64, without any code of the engine.
at::Tensor plainAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          double scale) {
  const at::Tensor scores = at::matmul(q.to(at::kDouble), k.to(at::kDouble).transpose(-2, -1));
  return at::matmul(at::softmax(scores * scale, -1), v.to(at::kDouble));
}

TEST(VerdictTest, TheEffectOfFp8IsReportedSeparatelyFromTheVerdict) {
  at::manual_seed(5);
  AttendInput in = randomInput(64, 32, at::kFloat);
  in.mask = Mask{};
  AttendConfig config = test::attendConfig(4, traces::Balance::kNone);
  config.mask = traces::MaskKind::kFull;
  config.fp8 = true;
  Gate gate(config.cp);
  AttendOutcome outcome = attend(in, config, gate);
  const at::Tensor before = plainAttention(in.q, in.k, in.v, in.scale),
                   after = plainAttention(roundedToFp8(in.q), roundedToFp8(in.k),
                                          roundedToFp8(in.v), in.scale);
  const double expected = ((after - before).norm() / before.norm()).item<double>();
  EXPECT_GT(expected, 0.01);
  EXPECT_NEAR(quantisationOf(in, outcome, true, "out").value_or(0), expected, 1e-9);
  EXPECT_GT(quantisationOf(in, outcome, true, "dk").value_or(0), 0.01);
  const double ratio = ratioFor(verifyAttend(in, outcome, true), "out");
  EXPECT_LE(ratio, 1) << "an error of some percent would be many times the limit";
  outcome.tensors.at("out") = outcome.tensors.at("out") * 2;
  EXPECT_NEAR(quantisationOf(in, outcome, true, "out").value_or(0), expected, 1e-9);
  EXPECT_FALSE(quantisationOf(in, outcome, false, "out")) << "nothing was rounded";
}

TEST(VerdictTest, RightRunsOfTinyShapesAreNotAccused) {
  for (int seed = 0; seed < 20; ++seed) {
    at::manual_seed(seed);
    const AttendInput in = randomInput(32, 8, at::kFloat);
    Gate gate(16);
    const auto outcome = attend(in, test::attendConfig(16), gate);
    for (const auto& diff : verifyAttend(in, outcome))
      EXPECT_LE(diff.ratio, 1) << diff.tensor << " seed " << seed;
  }
}

TEST(VerdictTest, ADeviceWithoutANumberIsNoStandard) {
  const at::Tensor exact = at::rand({1, 1, 8, 4}, at::kDouble);
  at::Tensor wrong = exact.to(at::kFloat).clone();
  wrong[0][0][5] += 1;
  traces::DiffRecord diff;
  measureError(diff, {wrong, exact, at::full({1, 1, 8, 4}, std::nan(""), at::kFloat)});
  EXPECT_GT(diff.ratio, 1);
  EXPECT_EQ(diff.worst_index, (std::vector<std::int64_t>{0, 0, 5}));
}

TEST(VerdictTest, TheWorstRowIsTheVerdictOfItsRank) {
  at::manual_seed(4);
  const AttendInput in = randomInput(64, 16, at::kFloat);
  Gate gate(4);
  const AttendOutcome outcome = attend(in, test::attendConfig(4, traces::Balance::kNone), gate);
  const AttendReference is(in, false);
  at::Tensor dk = outcome.tensors.at("dk").clone();
  dk.select(2, 40).zero_();  // a token of rank 2
  traces::DiffRecord diff;
  const BatchLayout layout(ShardLayout(64, 4, traces::Balance::kNone));
  measureError(diff, {dk, is.exact.dk, is.one_device.dk}, &is.variance.dk, &layout);
  ASSERT_EQ(diff.ratio_by_rank.size(), 4u);
  EXPECT_GT(diff.ratio_by_rank[2], 1);
  for (const std::size_t rank : {0, 1, 3}) EXPECT_LE(diff.ratio_by_rank[rank], 1) << rank;
  EXPECT_EQ(diff.worst_index.back(), 40);
}

TEST(MeanVerdictTest, AMeanMayBeOffByWhatItsNumbersAre) {
  const at::Tensor errors = at::randn({100}, at::kDouble) * 1e-3;
  EXPECT_GT(limitOfMean(5, errors), 1e-4);
  EXPECT_LT(limitOfMean(5, errors), 1e-2);
}

TEST(MeanVerdictTest, AMeanThatOneDeviceHasRightByLuckMayBeOffByWhatOneNumberIs) {
  const at::Tensor errors = at::tensor({1e-3, -1e-3}, at::kDouble).repeat({32});
  EXPECT_GT(limitOfMean(5, errors), 1e-3);
}

}  // namespace
}  // namespace ringscope::engine
