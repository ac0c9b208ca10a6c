// SPDX-License-Identifier: Apache-2.0
// Training with attention sinks: one learnt logit per query head in every layer.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/data/batch.h"
#include "engine/kernels/reference.h"
#include "engine/tensors/tensor_io.h"
#include "engine/verify/unsharded_step.h"
#include "tests/engine/mesh_training.h"
#include "tests/engine/sample_training.h"
#include "tests/support/expect_error.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/verify/trace_check.h"

namespace ringscope::engine {
namespace {

using traces::Strategy;

const std::string kSinksOfLayer1 = "model.layers.1.self_attn.sinks";

TrainConfig withSinks(Mesh mesh, Strategy strategy = Strategy::kRing) {
  TrainConfig config = test::textConfig(mesh, 2);
  config.sinks = true;
  config.strategy = strategy;
  return config;
}

/// Trains with verification, which includes the gradient and update of the sinks.
void expectEqualToUnsharded(TrainConfig config, const std::string& what) {
  config.verify = true;
  const TrainOutcome outcome = test::trained(config);
  int of_sinks = 0;
  for (const auto& diff : outcome.diffs) {
    EXPECT_LE(diff.ratio, 1) << what << ": " << diff.tensor << " of "
                             << traces::describe(diff.place)
                             << (diff.isolated ? " isolated" : " end to end");
    of_sinks += diff.tensor == "dsinks" || diff.tensor == "grad." + kSinksOfLayer1 ||
                diff.tensor == "update." + kSinksOfLayer1;
  }
  EXPECT_EQ(of_sinks, 4 * config.steps) << what;
}

TEST(SinksTrainingTest, EveryStrategyAndMeshEqualsUnshardedTrainingInFp64) {
  for (const Mesh mesh : {Mesh{1, 1, 1}, Mesh{1, 1, 2}, Mesh{1, 1, 4}, Mesh{2, 2, 2}})
    for (const Strategy strategy :
         {Strategy::kRing, Strategy::kAllGather, Strategy::kUlysses, Strategy::kHybrid}) {
      if (mesh.cp == 1 && strategy != Strategy::kRing) continue;
      expectEqualToUnsharded(withSinks(mesh, strategy),
                             mesh.arithmetic() + " " + traces::name(strategy));
    }
}

TEST(SinksTrainingTest, EveryMaskAndTypeDoes) {
  for (const auto mask :
       {traces::MaskKind::kFull, traces::MaskKind::kWindow, traces::MaskKind::kDocuments})
    for (const auto type : {traces::DType::kFloat32, traces::DType::kBFloat16})
      for (const Strategy strategy : {Strategy::kRing, Strategy::kHybrid}) {
        TrainConfig config = withSinks({1, 1, 4}, strategy);
        config.mask = mask;
        config.window = mask == traces::MaskKind::kWindow ? 9 : 0;
        config.separator = ". ";
        config.dtype = type;
        config.order = traces::Order::kDiagonalLast;
        expectEqualToUnsharded(config, std::string(traces::name(mask)) + " " + traces::name(type) +
                                           " " + traces::name(strategy));
      }
  TrainConfig fp8 = withSinks({1, 1, 4});
  fp8.fp8 = true;
  expectEqualToUnsharded(fp8, "fp8");
}

TEST(SinksTrainingTest, SinksAreLearntAndEveryOtherParameterBeginsAsWithoutThem) {
  TrainConfig config = withSinks({1, 1, 2});
  const auto with = test::trained(config);
  config.lr = 0;
  const auto beginning = test::trained(config);
  config.sinks = false;
  const auto without = test::trained(config);
  for (const auto& [name, weight] : without.weights)
    EXPECT_TRUE(at::equal(weight, beginning.weights.at(name))) << name;
  EXPECT_EQ(with.weights.size(), without.weights.size() + 2);
  EXPECT_GT(std::abs(without.steps[0].loss - beginning.steps[0].loss), 1e-4);
  const at::Tensor sinks = beginning.weights.at(kSinksOfLayer1);
  EXPECT_GT(sinks.std().item<double>(), 0.05);
  EXPECT_FALSE(at::equal(sinks, with.weights.at(kSinksOfLayer1)));
  EXPECT_FALSE(at::equal(sinks, beginning.weights.at("model.layers.0.self_attn.sinks")));
}

TEST(SinksTrainingTest, EveryMeshLearnsTheSameWithDropoutAndRecomputationToo) {
  TrainConfig config = withSinks({1, 1, 1});
  config.dtype = traces::DType::kFloat64;
  config.dropout = 0.2;
  const auto alone = test::trained(config);
  for (const auto& [mesh, strategy] :
       std::vector<std::pair<Mesh, Strategy>>{{{1, 1, 4}, Strategy::kHybrid},
                                              {{2, 2, 2}, Strategy::kUlysses},
                                              {{1, 4, 2}, Strategy::kAllGather}}) {
    TrainConfig shared = withSinks(mesh, strategy);
    shared.dtype = config.dtype;
    shared.dropout = config.dropout;
    shared.recompute = true;
    const auto outcome = test::trained(shared);
    for (const auto& [name, weight] : alone.weights)
      EXPECT_LE((outcome.weights.at(name) - weight).abs().max().item<double>(), 1e-8)
          << name << " " << mesh.arithmetic();
  }
}

TEST(SinksTrainingTest, TheirGradientIsTheSlopeOfTheLoss) {
  LlamaConfig model;
  model.attention_sinks = true;
  const auto weights = LlamaWeights::random(model, 3, at::kDouble);
  at::manual_seed(4);
  Batch batch;
  batch.input_ids = at::randint(256, {1, 24}, at::kLong);
  batch.labels = at::randint(256, {1, 24}, at::kLong);
  batch.position_ids = at::arange(24, at::kLong).unsqueeze(0);
  const auto step = [&](const LlamaWeights& with) {
    ReferenceAttention attention(Mask::causalMask(), model.scoreRule());
    return UnshardedStep::run(model, with, batch, attention, at::kDouble, at::kDouble);
  };
  const at::Tensor gradient = step(weights).gradients.at(kSinksOfLayer1);
  for (int head = 0; head < 4; ++head) {
    const auto moved = [&](double by) {
      const auto copy = weights.replica(at::kDouble);
      at::Tensor sinks = copy[kSinksOfLayer1].detach();
      sinks[head] += by;
      return step(copy).loss;
    };
    EXPECT_NEAR(gradient[head].item<double>(), (moved(1e-4) - moved(-1e-4)) / 2e-4, 1e-8);
  }
}

TEST(SinksTrainingTest, ACheckpointGoesOnWithThemOnAnotherMesh) {
  test::TempDir dir;
  TrainConfig config = withSinks({1, 1, 2});
  config.steps = 4;
  const auto through = test::trained(config);
  config.steps = 2;
  config.checkpoint_dir = dir.file("saved");
  test::trained(config);
  TrainConfig resumed = withSinks({2, 2, 1});
  resumed.steps = 4;
  resumed.checkpoint_dir = config.checkpoint_dir;
  resumed.resume = true;
  const auto outcome = test::trained(resumed);
  for (const auto& [name, weight] : through.weights)
    EXPECT_LE((outcome.weights.at(name) - weight).abs().max().item<double>(), 1e-5) << name;
  resumed.sinks = false;
  resumed.steps = 5;
  EXPECT_ERROR(test::trained(resumed), ErrorCode::kUsage,
               "the run that made the checkpoint differs in the model");
}

TEST(SinksTrainingTest, AModelFolderKeepsThemAndOneWithoutGetsNewOnes) {
  test::TempDir dir;
  TrainConfig config = withSinks({1, 1, 2});
  const auto write = [&](const TrainOutcome& outcome) {
    saveTensors(dir.file("model.safetensors"), outcome.weights);
    std::ofstream(dir.file("config.json")) << outcome.model.toJson("float32").dump();
  };
  const auto first = test::trained(config);
  write(first);
  TrainConfig again = config;
  again.model_dir = dir.file("");
  again.sinks = false;  // the model folder has sinks
  again.lr = 0;
  EXPECT_TRUE(
      at::equal(test::trained(again).weights.at(kSinksOfLayer1), first.weights.at(kSinksOfLayer1)));
  config.sinks = false;
  write(test::trained(config));
  EXPECT_FALSE(test::trained(again).weights.contains(kSinksOfLayer1));
  again.sinks = true;
  EXPECT_TRUE(test::trained(again).weights.contains(kSinksOfLayer1));
}

TEST(SinksTrainingTest, VerifyFindsARecordingRightAndTheDoctorSaysNothing) {
  test::TempDir dir;
  for (const Strategy strategy :
       {Strategy::kRing, Strategy::kAllGather, Strategy::kUlysses, Strategy::kHybrid}) {
    TrainConfig config = sampleConfig(4, 1);
    config.sinks = true;
    config.strategy = strategy;
    config.capture = "full";
    const auto trace = recorded(config, dir.file(std::string(traces::name(strategy)) + ".rscope"));
    EXPECT_TRUE(trace->run()->sinks);
    const traces::TraceCheck check = traces::checkTrace(*trace, 1e12);
    EXPECT_TRUE(check.right()) << traces::toText(check);
    for (const auto& layer : check.layers) EXPECT_EQ(layer.tensors.size(), 5u);
    for (const auto& finding : traces::diagnose(*trace).findings()) ADD_FAILURE() << finding.title;
  }
}

TEST(SinksTrainingTest, PlainlyAddedBlocksAreStillFound) {
  test::TempDir dir;
  TrainConfig config = sampleConfig(4, 1);
  config.sinks = true;
  config.mistakes = {"naive_sum_merge"};
  const auto trace = recorded(config, dir.file("wrong.rscope"));
  const auto findings = traces::diagnose(*trace).findings();
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().rule, "naive_sum_merge");
  EXPECT_FALSE(traces::checkTrace(*trace, 1e12).right());
}

}  // namespace
}  // namespace ringscope::engine
