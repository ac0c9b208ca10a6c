// SPDX-License-Identifier: Apache-2.0
// Correct runs over as many ranks as one machine allows pass every check, and alterations of them
// are still detected.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/attend/attend_reference.h"
#include "engine/verify/error_measure.h"
#include "tests/engine/random_runs.h"
#include "tests/support/campaign.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/verify/trace_check.h"
#include "traces/plan/run_rules.h"

namespace ringscope::engine {
namespace {

using test::RandomRun;
using test::RunDraw;
using traces::Balance;
using traces::DType;
using traces::MaskKind;
using traces::Strategy;

constexpr int kMostRanks = traces::kMostLocalRanks;

/// Returns values with a common part, as in a trained model. Sums of them do not average out.
AttendInput alikeValues(std::int64_t length, std::int64_t heads, at::ScalarType type) {
  AttendInput in;
  for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.dout}) *t = at::randn({1, heads, length, 16});
  in.v += 4;
  in.dout += 1;
  for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.dout}) *t = t->to(type);
  in.scale = 0.25;
  return in;
}

AttendConfig attendOver(int cp, Strategy strategy, Balance balance) {
  AttendConfig config;
  config.cp = cp;
  config.strategy = strategy;
  config.balance = balance;
  config.capture = "none";
  return config;
}

void expectRight(const AttendInput& in, const AttendConfig& config) {
  Gate gate(config.cp);
  const auto outcome = attend(in, config, gate);
  for (const auto& diff : verifyAttend(in, outcome, config.fp8))
    EXPECT_LE(diff.ratio, 1) << diff.tensor << " " << c10::toString(in.q.scalar_type()) << " "
                             << traces::name(config.strategy) << (config.fp8 ? " with FP8" : "");
}

TEST(ManyRanksTest, EveryStrategyAndTypeIsRightOver64Ranks) {
  at::manual_seed(8);
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    const AttendInput in = alikeValues(512, 1, type), of_many_heads = alikeValues(128, 64, type);
    for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped})
      for (const Strategy strategy : {Strategy::kRing, Strategy::kAllGather})
        expectRight(in, attendOver(kMostRanks, strategy, balance));
    AttendConfig config = attendOver(kMostRanks, Strategy::kRing, Balance::kHeadTail);
    config.fp8 = true;
    expectRight(in, config);
    expectRight(of_many_heads, attendOver(kMostRanks, Strategy::kUlysses, Balance::kHeadTail));
    config = attendOver(kMostRanks, Strategy::kHybrid, Balance::kHeadTail);
    config.ulysses = 4;
    expectRight(of_many_heads, config);
  }
}

TEST(ManyRanksTest, DetectsARowThatIsAThousandthTooLargeAmong64Ranks) {
  at::manual_seed(9);
  const AttendInput in = alikeValues(512, 1, at::kFloat);
  Gate gate(kMostRanks);
  const auto outcome =
      attend(in, attendOver(kMostRanks, Strategy::kRing, Balance::kHeadTail), gate);
  for (const AttendResult& result : kAttendResults)
    for (const std::int64_t row : {1, 250, 511}) {
      AttendOutcome altered = outcome;
      at::Tensor& values = altered.tensors.at(result.name);
      values = values.clone();
      values.select(2, row).mul_(1.001);
      for (const auto& diff : verifyAttend(in, altered))
        if (diff.tensor == result.name) {
          EXPECT_GT(diff.ratio, 1) << result.name << " row " << row;
        }
    }
}

/// Returns a small training step over `cp` ranks. The sample model has too few heads for Ulysses.
TrainConfig trainingOver(int cp, DType type, Strategy strategy) {
  TrainConfig c;
  c.text = {test::sampleText()};
  c.cp = cp;
  c.strategy = strategy;
  c.ulysses = strategy == Strategy::kHybrid ? 4 : 0;
  c.dtype = type;
  c.seq_len = 2 * cp;
  c.steps = 1;
  c.verify = true;
  return c;
}

/// Expects that no check reports anything about a recording.
void expectNotAccused(const traces::Trace& trace, test::Campaign* campaign = nullptr) {
  for (const auto& diff : trace.diffs()) {
    EXPECT_LE(diff.ratio, 1) << diff.tensor << ", " << (diff.isolated ? "isolated" : "end to end");
    if (campaign) campaign->largest("share_of_limit", diff.ratio);
  }
  const auto diagnosis = traces::diagnose(trace);
  EXPECT_TRUE(diagnosis.findings().empty()) << traces::toText(diagnosis);
  const auto check = traces::checkTrace(trace);
  EXPECT_TRUE(check.right()) << traces::toText(check);
}

TEST(ManyRanksTest, NobodyAccusesACorrectTrainingStepOver64Ranks) {
  for (const DType type : {DType::kFloat32, DType::kFloat64, DType::kBFloat16})
    for (const Strategy strategy : {Strategy::kRing, Strategy::kAllGather, Strategy::kHybrid}) {
      SCOPED_TRACE(std::string(traces::name(type)) + " " + traces::name(strategy));
      const RandomRun run{trainingOver(kMostRanks, type, strategy), std::nullopt};
      expectNotAccused(*run.recordInMemory());
    }
}

/// Draws a length. Longer runs are rarer: one in four has more than 256 tokens.
std::int64_t lengthFor(RunDraw& draw, int cp) {
  const int doublings = static_cast<int>(draw.oneIn(4) ? 2 + draw.below(5) : draw.below(3));
  const std::int64_t asked = std::int64_t{64} << doublings, unit = std::int64_t{2} * cp;
  return std::max<std::int64_t>(1, asked / unit) * unit;
}

TrainConfig randomTrainingOver(RunDraw& draw) {
  for (;;) {
    TrainConfig c;
    c.cp = draw.pick(std::vector{16, 32, 64});
    draw.drawAttention(c);
    c.dropout = 0;
    c.fp8 = false;
    c.capture = draw.pick<std::string>({"full", "full", "stats", "none"});
    c.model = {"sample", 2, 128, 4, 2, 32, 256};
    c.text = {test::sampleText()};
    c.mask = draw.pick(std::vector{MaskKind::kFull, MaskKind::kCausal, MaskKind::kCausal,
                                   MaskKind::kWindow, MaskKind::kDocuments});
    c.seq_len = lengthFor(draw, c.cp);
    if (c.mask == MaskKind::kWindow) c.window = 1 + draw.below(c.seq_len + 2);
    if (c.mask == MaskKind::kDocuments)
      c.separator = draw.pick<std::string>({"", "\n\n", ". ", " "});
    // Without its spaces the sample text is shorter than the longest sequence.
    if (c.separator == " ") c.text.push_back(test::sampleText());
    c.dtype = draw.pick(std::vector{DType::kFloat32, DType::kFloat64, DType::kBFloat16});
    c.batch = c.mask == MaskKind::kDocuments || c.seq_len > 512 ? 1 : 1 + draw.below(2);
    c.steps = static_cast<std::int32_t>(1 + draw.below(2));
    c.sinks = draw.oneIn(5);
    c.verify = true;
    if (!traces::refusal(c)) return c;
  }
}

test::RandomAttention randomAttentionOver(RunDraw& draw, std::mt19937& random) {
  for (;;) {
    test::RandomAttention a;
    a.config.command = traces::Command::kAttend;
    a.config.cp = draw.pick(std::vector{16, 32, 64});
    draw.drawAttention(a.config);
    a.config.dropout = 0;
    a.config.pad = true;
    const std::int64_t cp = a.config.cp, width = draw.pick(std::vector{8, 16, 64}),
                       heads = a.config.strategy == Strategy::kUlysses ? cp : 1 + draw.below(4),
                       length = lengthFor(draw, a.config.cp) - draw.below(2);
    at::manual_seed(random());
    const auto type = draw.pick(std::vector{at::kFloat, at::kDouble, at::kBFloat16, at::kHalf});
    const double common = draw.pick(std::vector{0.0, 0.0, 1.0, 5.0});
    const auto tensor = [&](double middle) {
      return (at::randn({1, heads, length, width}) + middle).to(type);
    };
    a.in = {tensor(0),
            tensor(0),
            tensor(common),
            tensor(common),
            test::randomMask(draw, length),
            draw.pick(std::vector{0.1, 0.4})};
    traces::RunSpec& run = a.asked;
    run = a.config;
    run.mask = a.in.mask.kind();
    run.window = a.in.mask.window;
    run.model = {"attention", 1, 0, heads, heads, width, 0};
    if (run.balance != Balance::kPerDocument && !traces::refusal(run)) return a;
  }
}

void expectNotAccused(const test::RandomAttention& a, test::Campaign& campaign) {
  Gate gate(a.config.cp);
  AttendConfig config = a.config;
  config.capture = "none";
  const auto outcome = attend(a.in, config, gate);
  for (const auto& diff : verifyAttend(a.in, outcome, config.fp8)) {
    EXPECT_LE(diff.ratio, 1) << diff.tensor;
    campaign.largest("share_of_limit", diff.ratio);
  }
}

/// One run in five is an attention, whose length need not be divisible and which may use Ulysses.
TEST(ManyRanksTest, NobodyAccusesRandomCorrectRuns) {
  for (test::Campaign campaign(4, 36); campaign.next();) {
    RunDraw draw(campaign.random());
    RandomRun run;
    if (draw.oneIn(5))
      run.attention = randomAttentionOver(draw, campaign.random());
    else
      run.training = randomTrainingOver(draw);
    SCOPED_TRACE(campaign.text() + " " + run.text());
    if (run.attention) expectNotAccused(*run.attention, campaign);
    expectNotAccused(*run.recordInMemory(), &campaign);
  }
}

}  // namespace
}  // namespace ringscope::engine
