// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/support/places.h"
#include "tests/support/recorded_layer.h"
#include "tests/support/run_program.h"
#include "traces/analysis/verify/trace_check.h"
#include "traces/exchange/import/open_trace.h"

namespace ringscope::traces {
namespace {

using test::sampleRecording;

TEST(VerifyTraceTest, AttentionOfTheSampleIsRightDespiteItsPositions) {
  const auto trace = openTrace(sampleRecording());
  const TraceCheck check = checkTrace(*trace);
  ASSERT_FALSE(check.layers.empty());
  for (const LayerCheck& layer : check.layers) {
    EXPECT_TRUE(layer.skipped.empty()) << layer.skipped.front();
    EXPECT_EQ(layer.tensors.size(), 5u);
    EXPECT_LE(layer.worstRatio(), 1);
    EXPECT_GT(layer.worstRatio(), 1e-3) << "the limits are not so wide that they say nothing";
  }
  EXPECT_TRUE(check.right());
  EXPECT_GT(check.compared(), 0);
}

TEST(VerifyTraceTest, TheCommandSaysWhatIsRightAndWhatItCouldNotSee) {
  const auto text = test::ringscope("verify " + sampleRecording());
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("✓ All that could be recomputed is within rounding"), std::string::npos);
  const auto json =
      nlohmann::json::parse(test::ringscope("verify --json " + sampleRecording()).out);
  EXPECT_TRUE(json.at("right"));
  EXPECT_EQ(json.at("layers")[0].at("tensors")[0].at("tensor"), "out");
  EXPECT_NE(json.at("steps")[0].at("loss").at("skipped"), "");
}

TEST(VerifyTraceTest, TheCommandRefusesARecordingWithoutValuesInOneSentence) {
  test::expectOneSentence(test::ringscope("verify " + test::inSources("README.md")), "README.md");
}

TEST(VerifyTraceTest, AWrongRowIsNamedInWordsAndInJson) {
  test::RecordedLayer layer({{"0-4", "4-8"}});
  for (double& value : layer.row(TensorKind::kDk, 0, 1, 6)) value = 0;
  const TraceCheck check = checkTrace(*layer.record());
  EXPECT_FALSE(check.right());
  const std::string text = toText(check);
  EXPECT_NE(text.find("✗ dk: "), std::string::npos);
  EXPECT_NE(text.find("at token 6, head 1, batch entry 0 of rank 1"), std::string::npos) << text;
  EXPECT_NE(text.find("✓ out: "), std::string::npos);
  const auto dk = toJson(check).at("layers")[0].at("tensors")[3];
  EXPECT_EQ(dk.at("tensor"), "dk");
  EXPECT_EQ(dk.at("within_limit"), false);
  EXPECT_EQ(dk.at("worst").at("token"), 6);
  EXPECT_EQ(dk.at("wrong_ranks"), nlohmann::json({1}));
}

TEST(VerifyTraceTest, ARecordingOfEventsAloneHasNothingToRecompute) {
  const TraceCheck check = checkTrace(Trace());
  EXPECT_EQ(check.compared(), 0);
  EXPECT_NE(toText(check).find("– Nothing could be recomputed"), std::string::npos);
}

TEST(VerifyTraceTest, DamagedValuesAreSkippedWithTheirSentence) {
  test::RecordedLayer layer({{"0-4"}});
  const auto trace = layer.record();
  trace->addValues(trace->tensors()[0].id, Bytes(3));
  const TraceCheck check = checkTrace(*trace);
  ASSERT_EQ(check.layers[0].skipped.size(), 1u);
  EXPECT_EQ(check.layers[0].skipped[0], "the values of 'q' do not fit its shape");
}

}  // namespace
}  // namespace ringscope::traces
