// SPDX-License-Identifier: Apache-2.0
// Positions that are read from keys of packed documents.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/support/recorded_layer.h"
#include "tests/traces/doctor_answers.h"
#include "traces/format/schema/declared.h"

namespace ringscope::traces {
namespace {

constexpr std::int64_t kTokensOfRank = 12;  // of each of two ranks
constexpr std::int64_t kBorder = 18;        // between two documents; the first is on both ranks

std::int64_t placeInDocument(std::int64_t token) {
  return token < kBorder ? token : token - kBorder;
}
/// Returns the place of a token in its rank's part of its document.
std::int64_t placeInPart(std::int64_t token) {
  return token < kTokensOfRank || token >= kBorder ? placeInDocument(token) : token - kTokensOfRank;
}

std::int64_t idFor(std::int64_t token) {
  return 1 + token * token % 5;
}

void addWhole(Trace& trace, const TensorName& name, WorldRank rank,
              std::int64_t (*value)(std::int64_t token)) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < kTokensOfRank; ++i)
    values.push_back(value(rank.value() * kTokensOfRank + i));
  TensorRecord tensor;
  tensor.tensor = name;
  tensor.rank = rank;
  tensor.dtype = DType::kInt64;
  tensor.shape = {1, kTokensOfRank};
  Bytes bytes(values.size() * sizeof(std::int64_t));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  test::addTensor(trace, tensor, std::move(bytes));
}

/// Returns the answer about a job that attends within its documents, whose mask nothing states and
/// whose keys are rotated by `place` of their tokens.
RuleResult answerForKeys(std::int64_t (*place)(std::int64_t token)) {
  test::LayerSpec spec{{"0-12", "12-24"}};
  spec.run = "command=import seq_len=24";
  spec.intent = "mask=documents documents=0-18,18-24";
  spec.write_key = [&](std::int64_t token, std::span<double> key) {
    const auto id = static_cast<double>(idFor(token)), length = 1 + 0.1 * id;
    const std::size_t half = key.size() / 2;
    for (std::size_t pair = 0; pair < half; ++pair) {
      const double angle =
          0.3 * id + static_cast<double>(place(token)) *
                         std::pow(100, -static_cast<double>(pair) / static_cast<double>(half));
      key[pair] = length * std::cos(angle);
      key[half + pair] = length * std::sin(angle);
    }
  };
  const auto trace = test::RecordedLayer(spec).record();
  for (const WorldRank rank : {WorldRank::of(0), WorldRank::of(1)}) {
    addWhole(*trace, {TensorKind::kPositionIds}, rank, placeInDocument);
    addWhole(*trace, {TensorKind::kBuffer, "input_ids"}, rank, idFor);
  }
  trace->add(Note{kFrameworkNote, "\"pytorch\""});
  trace->add(Note{kRecorderNote, R"({"attention":"recognised"})"});
  IntentRecord causal = trace->intents().front();
  causal.mask = MaskKind::kCausal;
  causal.documents.clear();
  trace->add(causal);
  return test::answerFrom("missing_position_ids", *trace);
}

TEST(DocumentKeysTest, KeysRotatedByThePlaceInAPartOfADocumentAreFound) {
  const Finding finding = test::only(answerForKeys(placeInPart));
  EXPECT_EQ(finding.rank, WorldRank::of(1));
  EXPECT_TRUE(test::says(finding, "document")) << finding.evidence;
}

TEST(DocumentKeysTest, KeysRotatedByThePlaceInTheDocumentAreRight) {
  const RuleResult answer = answerForKeys(placeInDocument);
  EXPECT_EQ(answer.verdict, Verdict::kClear) << answer.would_settle;
}

}  // namespace
}  // namespace ringscope::traces
