// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/trace_builder.h"
#include "viz/views/curves/curves_scene.h"

namespace ringscope::viz {
namespace {

using traces::DiffRecord;
using traces::Direction;
using traces::Layer;

DiffRecord verdict(std::int32_t step, const char* tensor, double ratio, double scale,
                   bool isolated = false) {
  DiffRecord diff;
  diff.place = {step, Layer::none(), Direction::kForward, {}};
  diff.tensor = tensor;
  diff.ratio = ratio;
  diff.scale = scale;
  diff.isolated = isolated;
  return diff;
}

class CurvesSceneTest : public testing::Test {
 protected:
  CurvesSceneTest() {
    trace.add(traces::Note{"step.1", R"({"loss": 5.5, "grad_norm": 2, "seconds": 0.5,
                                         "peak_bytes": [1024, 4096, 2048]})"});
    trace.add(traces::Note{"step.0", R"({"loss": 6, "grad_norm": null, "seconds": 0.25})"});
    traces::RunSpec run;
    run.seq_len = 64;
    run.batch = 2;
    trace.add(run);
  }
  const Curve& curve(const std::string& name) const {
    const auto at = std::ranges::find(scene.curves, name, &Curve::name);
    if (at == scene.curves.end()) throw std::out_of_range("no curve " + name);
    return *at;
  }
  traces::Trace trace;
  CurvesScene scene;
};

TEST_F(CurvesSceneTest, HasWhatEachStepLoggedInTheOrderOfSteps) {
  scene = makeCurvesScene(trace);
  EXPECT_EQ(scene.steps, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(curve("loss").values, (std::vector<std::optional<double>>{6, 5.5}));
  EXPECT_EQ(curve("tokens a second").values, (std::vector<std::optional<double>>{512, 256}));
  EXPECT_EQ(curve("peak memory").values, (std::vector<std::optional<double>>{std::nullopt, 4096}));
  ASSERT_TRUE(curve("gradient norm").values[0]);
  EXPECT_TRUE(std::isnan(*curve("gradient norm").values[0])) << "JSON writes NaN as null";
}

TEST_F(CurvesSceneTest, ShowsVerifiedNumbersBesideLoggedOnes) {
  trace.add(verdict(1, "loss", 0.2, 5.25));
  trace.add(verdict(1, "logits", 3, 7));
  trace.add(verdict(1, "out", 0.5, 1, true));
  scene = makeCurvesScene(trace);
  EXPECT_EQ(curve("loss").reference, (std::vector<std::optional<double>>{std::nullopt, 5.25}));
  EXPECT_EQ(curve("worst error ÷ limit").values,
            (std::vector<std::optional<double>>{std::nullopt, 3}));
  EXPECT_TRUE(curve("gradient norm").reference.empty());
  EXPECT_EQ(describeStep(scene, 1),
            "step 1: loss 5.5, unsharded 5.25 · gradient norm 2 · worst error ÷ limit 3.0× · "
            "tokens a second 256 · peak memory 4 KiB");
  EXPECT_EQ(describeStep(scene, 7), "step 7: nothing is logged");
}

TEST_F(CurvesSceneTest, AVerdictThatIsNoNumberIsTheWorst) {
  trace.add(verdict(0, "out", std::numeric_limits<double>::infinity(), 1));
  trace.add(verdict(0, "logits", 0.1, 1));
  scene = makeCurvesScene(trace);
  EXPECT_EQ(describe(curve("worst error ÷ limit"), *curve("worst error ÷ limit").values[0]), "∞×");
}

TEST_F(CurvesSceneTest, SaysThatNothingWasCompared) {
  scene = makeCurvesScene(trace);
  EXPECT_NE(scene.missing.find("Not compared with unsharded attention"), std::string::npos);
}

TEST_F(CurvesSceneTest, NotesThatAreNoStepsAreLeftOut) {
  for (const char* key : {"step.", "step.x", "step.-1", "step.99999999999", "steps.2"})
    trace.add(traces::Note{key, R"({"loss": 1})"});
  trace.add(traces::Note{"step.5", "[1]"});
  trace.add(traces::Note{"step.6", R"({"loss": "many"})"});
  scene = makeCurvesScene(trace);
  EXPECT_EQ(scene.steps, (std::vector<std::int32_t>{0, 1, 5, 6}));
  EXPECT_FALSE(curve("loss").values[2]);
  EXPECT_FALSE(curve("loss").values[3]);
}

TEST(CurvesSceneWithoutStepsTest, ReportsThatThereAreNoSteps) {
  EXPECT_EQ(makeCurvesScene(traces::Trace()).note,
            "No training step has logged its loss, and none was verified.");
}

}  // namespace
}  // namespace ringscope::viz
