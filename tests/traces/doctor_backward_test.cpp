// SPDX-License-Identifier: Apache-2.0
// The rule that computes backward again: in a recording in which it finds, in one in which it is
// clear, and in one in which it cannot tell.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/recorded_layer.h"
#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::answerOf;
using test::LayerSpec;
using test::RecordedLayer;

/// Two ranks with a token each: a block alone has one key, all weight on it and so no dq.
LayerSpec oneTokenEach() {
  return {{"0-1", "1-2"}, "mask=full"};
}
void setDq(RecordedLayer& layer, double value) {
  for (const std::int64_t head : {0, 1})
    for (const std::int64_t token : {0, 1})
      std::ranges::fill(layer.row(TensorKind::kDq, 0, head, token), value);
}

TEST(LocalDeltaInBackwardRuleTest, FindsTheSumOfWhatBlocksGiveAlone) {
  RecordedLayer layer(oneTokenEach());
  EXPECT_EQ(answerOf("local_delta_in_backward", *layer.record()).verdict, Verdict::kClear);
  setDq(layer, 0);
  const auto wrong = answerOf("local_delta_in_backward", *layer.record());
  ASSERT_EQ(wrong.verdict, Verdict::kFound) << wrong.would_settle;
  EXPECT_EQ(wrong.findings.front().place.layer, Layer::of(0));
  EXPECT_EQ(wrong.findings.front().place.direction, Direction::kBackward);
}

TEST(LocalDeltaInBackwardRuleTest, AnotherWrongDqIsNotTakenForIt) {
  RecordedLayer layer(oneTokenEach());
  setDq(layer, 3);
  const auto other = answerOf("local_delta_in_backward", *layer.record());
  EXPECT_EQ(other.verdict, Verdict::kNotObservable);
  EXPECT_NE(other.would_settle.find("layer 0 does not"), std::string::npos) << other.would_settle;
}

TEST(LocalDeltaInBackwardRuleTest, WithoutDqOrItsInputsItCannotTell) {
  for (const TensorKind kind : {TensorKind::kDq, TensorKind::kDout, TensorKind::kK}) {
    RecordedLayer layer(oneTokenEach());
    for (const int rank : {0, 1}) layer.leaveOut(kind, rank);
    EXPECT_EQ(answerOf("local_delta_in_backward", *layer.record()).verdict, Verdict::kNotObservable)
        << name(kind);
  }
}

}  // namespace
}  // namespace ringscope::traces
