// SPDX-License-Identifier: Apache-2.0
// Training on (dp, tp, cp) meshes against Hugging Face Transformers, and what belongs to it: bf16,
// recomputation, checkpoints.
#include "engine/sharding/mesh.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/tensors/tensor_io.h"
#include "engine/train/checkpoint.h"
#include "tests/engine/llama_reference.h"
#include "tests/support/expect_error.h"
#include "tests/support/rank_children.h"

namespace ringscope::engine {
namespace {

using test::MeshCase;

TrainOutcome run(const TrainConfig& config) {
  Gate gate(config.mesh().worldSize());
  return runTraining(config, gate, nullptr);
}

TrainConfig textConfig(Mesh mesh, int steps) {
  TrainConfig config;
  config.text = {test::sampleText()};
  config.dp = mesh.dp;
  config.tp = mesh.tp;
  config.cp = mesh.cp;
  config.steps = steps;
  config.seq_len = 64;
  config.batch = 4;
  config.capture = "none";
  return config;
}

class LlamaMeshes : public testing::TestWithParam<MeshCase> {};

TEST_P(LlamaMeshes, LossGradientsAndWeightsAreThoseOfTransformers) {
  test::expectNumbersOfTransformers(run(GetParam().config()));
}

INSTANTIATE_TEST_SUITE_P(Matrix, LlamaMeshes, testing::ValuesIn(test::meshCases()),
                         [](const auto& test) { return test.param.name(); });

TEST(MeshTest, RanksAndPlacesAreInverseAndGroupsAreTheirRows) {
  const Mesh mesh{2, 2, 3};
  for (const WorldRank rank : mesh.ranks()) EXPECT_EQ(mesh.rankOf(mesh.placeOf(rank)), rank);
  const auto ranks = [](const std::vector<int>& numbers) {
    std::vector<WorldRank> all;
    for (const int number : numbers) all.push_back(WorldRank::of(number));
    return all;
  };
  const WorldRank rank = WorldRank::of(7);
  EXPECT_EQ(mesh.placeOf(rank), (MeshPlace{GroupRank::of(1), GroupRank::of(0), GroupRank::of(1)}));
  EXPECT_EQ(mesh.cpGroup(rank), ranks({6, 7, 8}));
  EXPECT_EQ(mesh.tpGroup(rank), ranks({7, 10}));
  EXPECT_EQ(mesh.dpGroup(rank), ranks({1, 7}));
  EXPECT_EQ(mesh.dpCpGroup(rank), ranks({0, 1, 2, 6, 7, 8}));
}

TEST(MeshTest, WhatDoesNotDivideIsRefusedWithTheReason) {
  EXPECT_ERROR(run(MeshCase{{1, 3, 1}, "ring", "none"}.config()), ErrorCode::kUsage,
               "8 query heads do not divide among tp = 3");
  EXPECT_ERROR(run(MeshCase{{3, 1, 1}, "ring", "none"}.config()), ErrorCode::kUsage,
               "a batch of 4 sequences does not divide among dp = 3");
  EXPECT_ERROR(run(MeshCase{{1, 4, 4}, "ulysses"}.config()), ErrorCode::kUsage,
               "2 query heads do not divide among 4 Ulysses ranks");
}

/// 8 query heads and 4 KV heads over 8 ranks: each KV head lives on two of them.
TEST(MeshTest, KvHeadsAreReplicatedWhereTpExceedsThem) {
  test::expectNumbersOfTransformers(run(MeshCase{{1, 8, 1}, "ring", "none"}.config()));
}

/// The result of one process in a type, against the reference's.
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
  const auto alone = run(config({1, 1, 1}, "ring"));
  const double noise = gradientError(alone);
  EXPECT_GT(noise, 1e-4) << "really bf16";
  for (const auto& [mesh, strategy] :
       std::vector<std::pair<Mesh, const char*>>{{{1, 1, 4}, "ring"},
                                                 {{1, 2, 2}, "ulysses"},
                                                 {{2, 1, 2}, "all_gather"},
                                                 {{1, 4, 1}, "ring"}}) {
    const auto outcome = run(config(mesh, strategy));
    EXPECT_LE(gradientError(outcome), 2.5 * noise) << mesh.arithmetic();
    for (std::size_t i = 0; i < outcome.steps.size(); ++i)
      EXPECT_NEAR(outcome.steps[i].loss, alone.steps[i].loss, 0.01);
  }
}

TEST(MeshTest, RecomputationChangesNoNumberAndLowersThePeak) {
  TrainConfig config = textConfig({1, 1, 2}, 2);
  config.seq_len = 512;
  const auto plain = run(config);
  config.recompute = true;
  const auto again = run(config);
  for (const auto& [name, weight] : plain.weights)
    EXPECT_TRUE(at::equal(weight, again.weights.at(name))) << name;
  EXPECT_LT(again.steps.back().peak_bytes[0], plain.steps.back().peak_bytes[0]);
}

TEST(CheckpointTest, AResumedRunContinuesBitForBit) {
  for (const Mesh mesh : {Mesh{1, 1, 4}, Mesh{2, 2, 2}}) {
    test::TempDir dir;
    TrainConfig config = textConfig(mesh, 6);
    const auto whole = run(config);
    config.checkpoint_dir = dir.file("saved");
    config.steps = 3;
    run(config);
    config.steps = 6;
    config.resume = true;
    const auto resumed = run(config);
    ASSERT_EQ(resumed.steps.size(), 3u);
    EXPECT_EQ(resumed.steps.front().step, 3);
    EXPECT_EQ(resumed.steps.back().loss, whole.steps.back().loss);
    for (const auto& [name, weight] : whole.weights)
      EXPECT_TRUE(at::equal(weight, resumed.weights.at(name))) << name;
  }
}

TEST(CheckpointTest, BfloatMastersAreSavedToo) {
  test::TempDir dir;
  TrainConfig config = textConfig({1, 1, 2}, 4);
  config.dtype = traces::DType::kBFloat16;
  const auto whole = run(config);
  config.checkpoint_dir = dir.file("saved");
  config.steps = 2;
  run(config);
  config.steps = 4;
  config.resume = true;
  EXPECT_EQ(run(config).steps.back().loss, whole.steps.back().loss);
}

TEST(CheckpointTest, LoadsIntoAnotherLayout) {
  test::TempDir dir;
  TrainConfig config = textConfig({1, 2, 2}, 2);
  config.checkpoint_dir = dir.file("saved");
  const auto saved = run(config);
  config.steps = 4;
  config.resume = true;
  const auto same = run(config);
  for (const Mesh mesh : {Mesh{1, 1, 4}, Mesh{2, 1, 1}, Mesh{1, 4, 1}}) {
    test::TempDir other;
    std::filesystem::copy(dir.file("saved"), other.file("saved"),
                          std::filesystem::copy_options::recursive);
    // Step 4 of the run above is there too; only step 2 is wanted.
    for (const auto& entry : std::filesystem::directory_iterator(other.file("saved")))
      if (entry.path().filename().string().starts_with("step-00000004"))
        std::filesystem::remove_all(entry.path());
    TrainConfig moved = textConfig(mesh, 4);
    moved.checkpoint_dir = other.file("saved");
    moved.resume = true;
    const auto outcome = run(moved);
    EXPECT_NEAR(outcome.steps.back().loss, same.steps.back().loss, 1e-5) << mesh.arithmetic();
  }
}

TEST(CheckpointTest, WhatCannotBeResumedIsRefused) {
  test::TempDir dir;
  TrainConfig config = textConfig({1, 1, 2}, 2);
  config.resume = true;
  EXPECT_ERROR(run(config), ErrorCode::kUsage, "--checkpoint DIR");
  config.checkpoint_dir = dir.file("saved");
  EXPECT_ERROR(run(config), ErrorCode::kInput, "no checkpoint to resume");
  config.resume = false;
  run(config);
  config.resume = true;
  config.seed = 5;
  EXPECT_ERROR(run(config), ErrorCode::kUsage,
               "--seed 0, and this run has 5; resume with the same");
  config.seed = 0;
  config.lr = 0.01;
  EXPECT_ERROR(run(config), ErrorCode::kUsage, "--lr 0.001, and this run has 0.01");
  config.lr = 1e-3;
  config.text.push_back(test::sampleText());
  EXPECT_ERROR(run(config), ErrorCode::kUsage, "another value of the data");
  config.text.pop_back();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir.file("saved")))
    if (entry.path().filename() == "rank-1.safetensors")
      std::filesystem::resize_file(entry.path(), 100);
  EXPECT_ERROR(run(config), ErrorCode::kInput, "does not have the manifest's checksum");
}

CheckpointInfo smallCheckpoint(std::int64_t step) {
  return {{1, 1, 1}, "none", step, 0, step};
}

/// Runs in a process that the test below starts: saves step 2 and dies before one operation.
TEST(RankProcess, SavesACheckpointAndDiesBeforeAnOperation) {
  const char* folder = std::getenv("RINGSCOPE_TEST_FOLDER");
  if (!folder) GTEST_SKIP() << "runs in a process that CheckpointFaultTest starts";
  CheckpointStore store(folder);
  const int last = std::atoi(std::getenv("RINGSCOPE_TEST_OPERATION"));
  store.before_operation = [last](int operation) {
    if (operation == last) ::_exit(9);
  };
  const auto info = smallCheckpoint(2);
  store.begin(info);
  store.saveRank(info, WorldRank::of(0), {{"weight.w", at::full({100}, 2.0f)}});
  store.finish(info);
}

TEST(CheckpointFaultTest, KilledBeforeAnyFileOperationTheLastCheckpointLoads) {
  test::TempDir dir;
  const std::string folder = dir.file("saved");
  const CheckpointStore store(folder);
  const auto first = smallCheckpoint(1);
  store.begin(first);
  store.saveRank(first, WorldRank::of(0), {{"weight.w", at::full({100}, 1.0f)}});
  store.finish(first);
  int operation = 0, survived = 0;
  for (bool died = true; died; ++operation) {
    const auto statuses = test::runAsRanks(1, "RankProcess.SavesACheckpoint*", [&](int) {
      ::setenv("RINGSCOPE_TEST_FOLDER", folder.c_str(), 1);
      ::setenv("RINGSCOPE_TEST_OPERATION", std::to_string(operation).c_str(), 1);
    });
    died = WIFEXITED(statuses[0]) && WEXITSTATUS(statuses[0]) == 9;
    if (!died) {
      ASSERT_EQ(statuses[0], 0);
    }
    const auto newest = store.newest();
    ASSERT_TRUE(newest) << operation;
    const at::Tensor value = store.load(*newest, WorldRank::of(0)).at("weight.w");
    EXPECT_TRUE((value == static_cast<double>(newest->next_step)).all().item<bool>()) << operation;
    survived += died;
  }
  EXPECT_GE(survived, 8);
}

}  // namespace
}  // namespace ringscope::engine
