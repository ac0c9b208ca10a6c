// SPDX-License-Identifier: Apache-2.0
// Checkpoints: resumed bit for bit, moved to another mesh, rejected, and intact after a crash at
// any moment.
#include "engine/train/checkpoint.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/model/llama_weights.h"
#include "engine/tensors/tensor_io.h"
#include "tests/engine/mesh_training.h"
#include "tests/support/expect_error.h"
#include "tests/support/rank_children.h"

namespace ringscope::engine {
namespace {

using test::textConfig;
using test::trained;

TEST(CheckpointTest, AResumedRunContinuesBitForBit) {
  for (const Mesh mesh : {Mesh{1, 1, 4}, Mesh{2, 2, 2}}) {
    test::TempDir dir;
    TrainConfig config = textConfig(mesh, 6);
    const auto whole = trained(config);
    config.checkpoint_dir = dir.file("saved");
    config.steps = 3;
    trained(config);
    config.steps = 6;
    config.resume = true;
    const auto resumed = trained(config);
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
  const auto whole = trained(config);
  config.checkpoint_dir = dir.file("saved");
  config.steps = 2;
  trained(config);
  config.steps = 4;
  config.resume = true;
  EXPECT_EQ(trained(config).steps.back().loss, whole.steps.back().loss);
}

TEST(CheckpointTest, LoadsIntoAnotherLayout) {
  test::TempDir dir;
  TrainConfig config = textConfig({1, 2, 2}, 2);
  config.checkpoint_dir = dir.file("saved");
  const auto saved = trained(config);
  config.steps = 4;
  config.resume = true;
  const auto same = trained(config);
  for (const Mesh mesh : {Mesh{1, 1, 4}, Mesh{2, 1, 1}, Mesh{1, 4, 1}}) {
    test::TempDir other;
    std::filesystem::copy(dir.file("saved"), other.file("saved"),
                          std::filesystem::copy_options::recursive);
    // The run above also saved step 4; only step 2 is needed.
    for (const auto& entry : std::filesystem::directory_iterator(other.file("saved")))
      if (entry.path().filename().string().starts_with("step-00000004"))
        std::filesystem::remove_all(entry.path());
    TrainConfig moved = textConfig(mesh, 4);
    moved.checkpoint_dir = other.file("saved");
    moved.resume = true;
    const auto outcome = trained(moved);
    EXPECT_NEAR(outcome.steps.back().loss, same.steps.back().loss, 1e-5) << mesh.arithmetic();
  }
}

std::string onlyCheckpointIn(const std::string& folder) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_EQ(found, "");
    found = entry.path().string();
  }
  return found;
}

/// The sample model has 2 KV heads: with tp 4 each KV head is on two ranks.
TEST(CheckpointTest, EachShardIsWrittenOnce) {
  for (const Mesh mesh : {Mesh{2, 2, 2}, Mesh{1, 4, 2}}) {
    test::TempDir dir;
    TrainConfig config = textConfig(mesh, 1);
    config.checkpoint_dir = dir.file("saved");
    const auto outcome = trained(config);
    const std::string folder = onlyCheckpointIn(dir.file("saved"));
    std::map<std::string, std::int64_t> written;
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".safetensors") continue;
      ++files;
      const auto shard = traces::SafeTensorsFile::read(entry.path().string());
      for (const auto& [name, view] : shard.tensors())
        written[name] += toTensor(view, name).numel();
    }
    EXPECT_EQ(files, mesh.tp);
    EXPECT_EQ(written.size(), 3 * outcome.weights.size());
    const auto checkpoint = Checkpoint::open(folder);
    for (const auto& [name, weight] : outcome.weights) {
      for (const char* kind : {"weight.", "first.", "second."})
        EXPECT_EQ(written[kind + name], weight.numel()) << kind << name;
      EXPECT_TRUE(at::equal(checkpoint.whole("weight." + name), weight)) << name;
    }
  }
}

TEST(CheckpointTest, AnotherModelOfTheSameShapeIsRefused) {
  test::TempDir dir;
  const auto write_config = [&](const char* theta) {
    auto model = LlamaConfig().toJson("float32");
    model["rope_parameters"]["rope_theta"] = std::stod(theta);
    std::ofstream(dir.file("config.json")) << model.dump();
  };
  saveTensors(dir.file("model.safetensors"),
              LlamaWeights::random(LlamaConfig(), 1, at::kFloat).values());
  write_config("10000");
  TrainConfig config = textConfig({1, 1, 2}, 1);
  config.model_dir = dir.file("");
  config.checkpoint_dir = dir.file("saved");
  trained(config);
  write_config("20000");
  config.resume = true;
  config.steps = 2;
  EXPECT_ERROR(trained(config), ErrorCode::kUsage,
               "the run that made the checkpoint differs in the model");
}

TEST(CheckpointTest, RejectsAResumeThatCannotWork) {
  test::TempDir dir;
  TrainConfig config = textConfig({1, 1, 2}, 2);
  config.resume = true;
  EXPECT_ERROR(trained(config), ErrorCode::kUsage, "--checkpoint DIR");
  config.checkpoint_dir = dir.file("saved");
  EXPECT_ERROR(trained(config), ErrorCode::kInput, "no checkpoint to resume");
  config.resume = false;
  trained(config);
  config.resume = true;
  config.seed = 5;
  EXPECT_ERROR(trained(config), ErrorCode::kUsage,
               "--seed 0, and this run has 5; resume with the same");
  config.seed = 0;
  config.lr = 0.01;
  EXPECT_ERROR(trained(config), ErrorCode::kUsage, "--lr 0.001, and this run has 0.01");
  config.lr = 1e-3;
  config.seq_len = 32;
  EXPECT_ERROR(trained(config), ErrorCode::kUsage, "--seq-len 64, and this run has 32");
  config.seq_len = 64;
  config.text.push_back(test::sampleText());
  EXPECT_ERROR(trained(config), ErrorCode::kUsage,
               "the run that made the checkpoint differs in the data");
  config.text.pop_back();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir.file("saved")))
    if (entry.path().filename() == "tp-0.safetensors")
      std::filesystem::resize_file(entry.path(), 100);
  EXPECT_ERROR(trained(config), ErrorCode::kInput, "does not have the manifest's checksum");
}

CheckpointInfo smallCheckpoint(std::int64_t step) {
  return {{1, 1, 1}, "none", step, 0, step};
}

/// Runs in a process that the test below starts: saves step 2 and exits before one operation.
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
  store.saveShard(info, GroupRank::of(0), {{"weight.w", at::full({100}, 2.0f)}});
  store.finish(info);
}

TEST(CheckpointFaultTest, KilledBeforeAnyFileOperationTheLastCheckpointLoads) {
  test::TempDir dir;
  const std::string folder = dir.file("saved");
  const CheckpointStore store(folder);
  const auto first = smallCheckpoint(1);
  store.begin(first);
  store.saveShard(first, GroupRank::of(0), {{"weight.w", at::full({100}, 1.0f)}});
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
    const at::Tensor value = newest->whole("weight.w");
    EXPECT_TRUE((value == static_cast<double>(newest->info().next_step)).all().item<bool>())
        << operation;
    survived += died;
  }
  EXPECT_GE(survived, 8);
}

}  // namespace
}  // namespace ringscope::engine
