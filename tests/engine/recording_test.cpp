// SPDX-License-Identifier: Apache-2.0
// A recording must be sufficient to put the run's results together again.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/attend/attend.h"
#include "tests/support/trace_sink.h"
#include "traces/format/recording/recorder.h"

namespace ringscope::engine {
namespace {

using traces::Direction;
using traces::TensorKey;
using traces::TensorKind;
using traces::TensorRecord;
using traces::Trace;
using traces::WorldRank;

constexpr std::int64_t kLength = 96, kHeads = 8, kKvHeads = 4, kWidth = 8;

struct Case {
  std::string strategy, balance, mask;
  at::ScalarType type = at::kFloat;
  int cp = 2;

  std::string name() const {
    return strategy + "_" + balance + "_" + mask + "_" + c10::toString(type) + "_cp" +
           std::to_string(cp);
  }
  Mask attendedMask() const {
    if (mask == "full") return Mask::full();
    if (mask == "window") return Mask::slidingWindow(20);
    if (mask == "documents") return Mask::packed({0, 48, 64, 96}, kLength);
    return Mask::causalMask();
  }
};

std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (const std::string strategy : {"ring", "all_gather", "ulysses", "hybrid"})
    for (const std::string mask : {"full", "causal", "window", "documents"})
      for (const std::string balance : {"none", "head_tail", "striped", "per_document"})
        for (const int cp : {2, 4, 8})
          for (const auto type : {at::kFloat, at::kBFloat16}) {
            if (mask == "full" && balance != "none") continue;
            if (balance == "per_document" && mask != "documents") continue;
            cases.push_back({strategy, balance, mask, type, cp});
          }
  return cases;
}

std::shared_ptr<Trace> record(const Case& c) {
  auto random = [&](std::int64_t heads) {
    return at::randn({1, heads, kLength, kWidth}, at::kFloat).to(c.type);
  };
  AttendInput input{random(kHeads),
                    random(kKvHeads),
                    random(kKvHeads),
                    random(kHeads),
                    c.attendedMask(),
                    0.4,
                    {}};
  AttendConfig config;
  config.cp = c.cp;
  config.balance = traces::parse<traces::Balance>(c.balance);
  config.capture = "full";
  config.strategy = traces::parse<traces::Strategy>(c.strategy);
  config.pad = true;
  auto trace = std::make_shared<Trace>();
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<test::TraceSink>(trace));
  traces::Recorder recorder(c.cp, std::move(sinks));
  Gate gate(c.cp);
  attend(input, config, gate, &recorder);
  recorder.close();
  return trace;
}

/// A tensor [heads, tokens, width] in global order, of one batch entry.
struct Whole {
  explicit Whole(std::int64_t tokens_in)
      : tokens(tokens_in), values(static_cast<std::size_t>(kHeads * tokens * kWidth), 0) {}
  double& at(std::int64_t head, std::int64_t token, std::int64_t d) {
    return values[static_cast<std::size_t>((head * tokens + token) * kWidth + d)];
  }
  std::int64_t tokens;
  std::vector<double> values;
};

/// Returns what all ranks recorded as `kind`, put together by the tokens of their shards.
Whole assembled(const Trace& trace, TensorKind kind, std::int64_t width) {
  Whole whole(trace.run()->seq_len);
  for (const WorldRank rank : ranksFrom(WorldRank::of(0), trace.worldSize())) {
    const TensorRecord* tensor =
        trace.findTensor({kind}, {0, traces::Layer::of(0), Direction::kForward, {}}, rank);
    const auto values = trace.values(*tensor);
    std::vector<std::int64_t> tokens;
    for (const auto& run : trace.findShard("q", 0, rank)->global_from_local)
      for (std::int64_t g = run.begin; g < run.end; ++g) tokens.push_back(g);
    std::size_t i = 0;
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (const std::int64_t token : tokens)
        for (std::int64_t d = 0; d < width; ++d) whole.at(h, token, d) = values->at(i++);
  }
  return whole;
}

std::vector<std::int64_t> tokensIn(const traces::ScheduleRecord& schedule) {
  std::vector<std::int64_t> tokens;
  for (const auto& run : schedule.rows)
    for (std::int64_t i = 0; i < run.count; ++i) tokens.push_back(run.global(i));
  return tokens;
}

/// Returns the sum of the blocks that the schedule names, weighted by exp(block_lse − lse).
Whole merged(const Trace& trace, Whole lse) {
  Whole sum(trace.run()->seq_len);
  for (const WorldRank rank : ranksFrom(WorldRank::of(0), trace.worldSize())) {
    const auto* schedule = trace.schedule(0, rank, Direction::kForward);
    const auto tokens = tokensIn(*schedule);
    for (const auto& stage : schedule->stages) {
      EXPECT_EQ(stage.pieces.empty(), stage.why_empty != traces::WhyEmpty::kAttends);
      for (std::size_t p = 0; p < stage.pieces.size(); ++p) {
        TensorKey key{{TensorKind::kBlockOut},
                      {0, traces::Layer::of(0), Direction::kForward, stage.ring_step}};
        key.rank = rank;
        key.source_rank = stage.source_rank;
        key.piece = traces::PieceIndex::of(p);
        const TensorRecord* out = trace.findTensor(key);
        key.tensor.kind = TensorKind::kBlockLse;
        const TensorRecord* block_lse = trace.findTensor(key);
        EXPECT_TRUE(out && block_lse) << describe(key);
        if (!out || !block_lse) return sum;
        const auto values = *trace.values(*out), lses = *trace.values(*block_lse);
        std::size_t row = 0;
        for (std::int64_t h = schedule->q_head_begin; h < schedule->q_head_end; ++h)
          for (std::int64_t q = stage.pieces[p].q_begin; q < stage.pieces[p].q_end; ++q, ++row) {
            const std::int64_t token = tokens[static_cast<std::size_t>(q)];
            if (!std::isfinite(lses[row])) continue;
            const double weight = std::exp(lses[row] - lse.at(h, token, 0));
            for (std::int64_t d = 0; d < kWidth; ++d)
              sum.at(h, token, d) += weight * values[row * kWidth + static_cast<std::size_t>(d)];
          }
      }
    }
  }
  return sum;
}

class RecordingTest : public testing::TestWithParam<Case> {};

TEST_P(RecordingTest, EveryTensorHasAKeyOfItsOwnAndTheBlocksMergeIntoTheResult) {
  at::manual_seed(3);
  const auto trace = record(GetParam());
  EXPECT_TRUE(trace->problems().empty()) << trace->problems().front();
  ASSERT_EQ(trace->worldSize(), GetParam().cp);
  const Whole out = assembled(*trace, TensorKind::kOut, kWidth);
  Whole lse(trace->run()->seq_len);
  {
    const Whole packed = assembled(*trace, TensorKind::kLse, 1);
    lse.values = packed.values;
  }
  const Whole sum = merged(*trace, lse);
  // Blocks and result are each rounded once to the run's type; sums are in fp32.
  const double rounding = GetParam().type == at::kBFloat16 ? 1.0 / 64 : 1e-5;
  double largest = 0;
  for (std::size_t i = 0; i < out.values.size(); ++i)
    largest = std::max(largest, std::abs(out.values[i] - sum.values[i]));
  EXPECT_LE(largest, rounding);
}

INSTANTIATE_TEST_SUITE_P(Matrix, RecordingTest, testing::ValuesIn(allCases()),
                         [](const auto& case_info) { return case_info.param.name(); });

}  // namespace
}  // namespace ringscope::engine
