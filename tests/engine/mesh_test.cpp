// SPDX-License-Identifier: Apache-2.0
// Training on (dp, tp, cp) meshes compared with Hugging Face Transformers, also with bf16,
// recomputation and dropout.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/plan.h"
#include "engine/tensors/tensor_io.h"
#include "tests/engine/llama_reference.h"
#include "tests/engine/mesh_training.h"
#include "tests/support/expect_error.h"

namespace ringscope::engine {
namespace {

using test::MeshCase;
using test::textConfig;

class LlamaMeshes : public testing::TestWithParam<MeshCase> {};

TEST_P(LlamaMeshes, LossGradientsAndWeightsAreThoseOfTransformers) {
  test::expectNumbersOfTransformers(test::trained(GetParam().config()));
}

INSTANTIATE_TEST_SUITE_P(Matrix, LlamaMeshes, testing::ValuesIn(test::meshCases()),
                         [](const auto& test) { return test.param.name(); });

TEST(MeshTest, RanksAndPlacesAreInverseAndGroupsAreTheirRows) {
  const Mesh mesh{2, 2, 3};
  for (const WorldRank rank : mesh.ranks()) EXPECT_EQ(mesh.rankFor(mesh.placeFor(rank)), rank);
  const auto ranks = [](const std::vector<int>& numbers) {
    std::vector<WorldRank> all;
    for (const int number : numbers) all.push_back(WorldRank::of(number));
    return all;
  };
  const WorldRank rank = WorldRank::of(7);
  EXPECT_EQ(mesh.placeFor(rank), (MeshPlace{GroupRank::of(1), GroupRank::of(0), GroupRank::of(1)}));
  EXPECT_EQ(mesh.cpGroup(rank), ranks({6, 7, 8}));
  EXPECT_EQ(mesh.tpGroup(rank), ranks({7, 10}));
  EXPECT_EQ(mesh.dpGroup(rank), ranks({1, 7}));
  EXPECT_EQ(mesh.dpCpGroup(rank), ranks({0, 1, 2, 6, 7, 8}));
}

TEST(MeshTest, RejectsSizesThatDoNotDivideWithTheReason) {
  EXPECT_ERROR(test::trained(MeshCase{{1, 3, 1}, "ring", "none"}.config()), ErrorCode::kUsage,
               "8 query heads do not divide among tp = 3");
  EXPECT_ERROR(test::trained(MeshCase{{3, 1, 1}, "ring", "none"}.config()), ErrorCode::kUsage,
               "a batch of 4 sequences does not divide among dp = 3");
  EXPECT_ERROR(test::trained(MeshCase{{1, 4, 4}, "ulysses"}.config()), ErrorCode::kUsage,
               "2 query heads do not divide among 4 Ulysses ranks");
}

/// With 8 query heads and 4 KV heads over 8 ranks, each KV head is on two ranks.
TEST(MeshTest, KvHeadsAreReplicatedWhereTpExceedsThem) {
  test::expectNumbersOfTransformers(test::trained(MeshCase{{1, 8, 1}, "ring", "none"}.config()));
}

/// Returns the gradient error of one process in a type, compared with the reference.
double gradientError(const TrainOutcome& outcome) {
  const auto file = traces::SafeTensorsFile::read(test::reference("llama/ref.safetensors"));
  double worst = 0;
  for (const auto& [name, grad] : outcome.gradients) {
    const at::Tensor exact = toTensor(file.at("grad." + name), name);
    worst = std::max(
        worst, (grad.to(at::kFloat) - exact).norm().item<double>() / exact.norm().item<double>());
  }
  return worst;
}

TEST(MeshTest, Bf16StaysWithinTheNoiseOfOneBf16Process) {
  auto config = [](Mesh mesh, const char* strategy) {
    TrainConfig c = MeshCase{mesh, strategy, mesh.cp > 1 ? "head_tail" : "none"}.config();
    c.dtype = traces::DType::kBFloat16;
    return c;
  };
  const auto alone = test::trained(config({1, 1, 1}, "ring"));
  const double noise = gradientError(alone);
  EXPECT_GT(noise, 1e-4) << "really bf16";
  for (const auto& [mesh, strategy] :
       std::vector<std::pair<Mesh, const char*>>{{{1, 1, 4}, "ring"},
                                                 {{1, 2, 2}, "ulysses"},
                                                 {{2, 1, 2}, "all_gather"},
                                                 {{1, 4, 1}, "ring"}}) {
    const auto outcome = test::trained(config(mesh, strategy));
    EXPECT_LE(gradientError(outcome), 2.5 * noise) << mesh.arithmetic();
    for (std::size_t i = 0; i < outcome.steps.size(); ++i)
      EXPECT_NEAR(outcome.steps[i].loss, alone.steps[i].loss, 0.01);
  }
}

TEST(MeshTest, RecomputationChangesNoNumberAndLowersThePeak) {
  TrainConfig config = textConfig({1, 1, 2}, 2);
  config.seq_len = 512;
  const auto plain = test::trained(config);
  config.recompute = true;
  const auto again = test::trained(config);
  for (const auto& [name, weight] : plain.weights)
    EXPECT_TRUE(at::equal(weight, again.weights.at(name))) << name;
  EXPECT_LT(again.steps.back().peak_bytes[0], plain.steps.back().peak_bytes[0]);
}

TEST(MeshTest, EveryMeshDropsTheSamePairs) {
  TrainConfig config = textConfig({1, 1, 1}, 2);
  config.dtype = traces::DType::kFloat64;
  const double without = test::trained(config).steps[1].loss;
  config.dropout = 0.2;
  const auto alone = test::trained(config);
  EXPECT_GT(std::abs(alone.steps[1].loss - without), 1e-6);
  for (const auto& [mesh, strategy] :
       std::vector<std::pair<Mesh, traces::Strategy>>{{{1, 1, 4}, traces::Strategy::kRing},
                                                      {{2, 2, 2}, traces::Strategy::kRing},
                                                      {{2, 2, 2}, traces::Strategy::kUlysses},
                                                      {{1, 1, 4}, traces::Strategy::kHybrid},
                                                      {{1, 4, 2}, traces::Strategy::kAllGather}}) {
    TrainConfig shared = textConfig(mesh, 2);
    shared.dtype = config.dtype;
    shared.dropout = config.dropout;
    shared.strategy = strategy;
    const auto outcome = test::trained(shared);
    EXPECT_NEAR(outcome.steps[1].loss, alone.steps[1].loss, 1e-10) << mesh.arithmetic();
    for (const auto& [name, gradient] : alone.gradients)
      EXPECT_LE((outcome.gradients.at(name) - gradient).abs().max().item<double>(), 1e-8)
          << name << " " << mesh.arithmetic();
  }
}

}  // namespace
}  // namespace ringscope::engine
