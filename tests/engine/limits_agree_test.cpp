// SPDX-License-Identifier: Apache-2.0
// The limits of `diff` and of `verify` for the same rows of the same recording.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/engine/sample_training.h"
#include "tests/support/trace_sink.h"
#include "traces/analysis/verify/recompute/meant_attention.h"

namespace ringscope::engine {
namespace {

using traces::DType, traces::Strategy, traces::TensorKind;

/// Trains one step with `--verify` and keeps all values.
std::shared_ptr<traces::Trace> verifiedStep(TrainConfig config) {
  config.capture = "full";
  config.verify = true;
  const auto trace = std::make_shared<traces::Trace>();
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<test::TraceSink>(trace));
  traces::Recorder recorder(config.mesh().worldSize(), std::move(sinks));
  run(config, &recorder);
  return trace;
}

/// The limits of `verify` for all rows of one layer.
class VerifyLimits {
 public:
  VerifyLimits(const traces::Trace& trace, Layer layer)
      : layer_(traces::findLayer(trace, {0, layer, 0}, members())),
        meant_(trace, layer_, allRows(), traces::AttentionMask::of(trace.intents().front()), true) {
  }

  double at(const std::string& tensor, const std::vector<std::int64_t>& index) const {
    const bool of_keys = tensor == "dk" || tensor == "dv";
    const std::int64_t heads = of_keys ? layer_.kv_heads : layer_.heads;
    const auto row = (index[0] * heads + index[1]) * std::ssize(layer_.tokens) + index[2];
    return listOf(tensor)[static_cast<std::size_t>(row)];
  }

 private:
  const std::vector<double>& listOf(const std::string& tensor) const {
    const traces::Limits& limits = meant_.limits();
    return tensor == "out"   ? limits.out
           : tensor == "lse" ? limits.lse
           : tensor == "dq"  ? limits.dq
           : tensor == "dk"  ? limits.dk
                             : limits.dv;
  }
  static std::vector<WorldRank> members() {
    std::vector<WorldRank> ranks;
    for (std::size_t rank = 0; rank < 4; ++rank) ranks.push_back(WorldRank::of(rank));
    return ranks;
  }
  traces::Selection allRows() const {
    traces::Selection all;
    for (std::int64_t batch = 0; batch < layer_.batch; ++batch)
      for (std::int64_t head = 0; head < layer_.kv_heads; ++head)
        all.groups.push_back({batch, head});
    all.rows.resize(layer_.tokens.size());
    std::iota(all.rows.begin(), all.rows.end(), std::size_t{0});
    return all;
  }

  traces::LayerTensors layer_;
  traces::MeantAttention meant_;
};

/// Expects that the limits of the worst rows agree.
void expectAgreement(const TrainConfig& config) {
  constexpr double kMost = 1.5 + 1e-9;
  const auto trace = verifiedStep(config);
  int compared = 0;
  for (Layer layer = Layer::of(0); layer.index() < 2; layer = layer.next()) {
    const VerifyLimits verify(*trace, layer);
    for (const traces::DiffRecord& diff : trace->diffs()) {
      if (!diff.isolated || diff.place.layer != layer || diff.tensor == "dsinks") continue;
      const double quotient = diff.limit / verify.at(diff.tensor, diff.worst_index);
      EXPECT_LE(quotient, kMost) << diff.tensor << " of layer " << layer.index();
      EXPECT_GE(quotient, 1 / kMost) << diff.tensor << " of layer " << layer.index();
      ++compared;
    }
  }
  EXPECT_EQ(compared, 10);
}

TrainConfig findStep(DType type, Strategy strategy, std::int64_t length) {
  TrainConfig config = sampleConfig(4, 1);
  config.dtype = type;
  config.strategy = strategy;
  config.seq_len = length;
  return config;
}

class LimitsAgreeTest : public testing::TestWithParam<std::tuple<DType, Strategy, std::int64_t>> {};

TEST_P(LimitsAgreeTest, DiffAndVerifyGiveTheSameLimit) {
  const auto [type, strategy, length] = GetParam();
  expectAgreement(findStep(type, strategy, length));
}

INSTANTIATE_TEST_SUITE_P(EveryTypeAndStrategy, LimitsAgreeTest,
                         testing::Combine(testing::Values(DType::kFloat32, DType::kFloat64,
                                                          DType::kBFloat16),
                                          testing::Values(Strategy::kRing, Strategy::kAllGather,
                                                          Strategy::kUlysses, Strategy::kHybrid),
                                          testing::Values(64, 256, 1024)));

}  // namespace
}  // namespace ringscope::engine
