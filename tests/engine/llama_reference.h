// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <fstream>

#include "engine/tensors/tensor_io.h"
#include "engine/train/training_run.h"
#include "tests/support/files.h"

namespace ringscope::test {

/// A mesh and a strategy that can run on it.
struct MeshCase {
  engine::Mesh mesh;
  std::string strategy = "ring", balance = "head_tail";
  int ulysses = 0;

  std::string name() const {
    return "dp" + std::to_string(mesh.dp) + "_tp" + std::to_string(mesh.tp) + "_cp" +
           std::to_string(mesh.cp) + "_" + strategy + "_" + balance;
  }
  engine::TrainConfig config() const {
    engine::TrainConfig config;
    config.model_dir = reference("llama/model");
    config.tokens = reference("llama/tokens.safetensors");
    config.steps = 3;
    config.dp = mesh.dp;
    config.tp = mesh.tp;
    config.cp = mesh.cp;
    config.balance = traces::parse<traces::Balance>(balance);
    config.strategy = traces::parse<traces::Strategy>(strategy);
    config.ulysses = ulysses;
    config.capture = "none";
    return config;
  }
};

/// Every mesh of up to 8 ranks out of 1, 2, 4 with every strategy that its 8 / tp query heads
/// allow.
inline std::vector<MeshCase> meshCases() {
  constexpr int kHeads = 8;
  std::vector<MeshCase> cases;
  for (const int dp : {1, 2, 4})
    for (const int tp : {1, 2, 4})
      for (const int cp : {1, 2, 4}) {
        const engine::Mesh mesh{dp, tp, cp};
        if (mesh.worldSize() > 8) continue;
        for (const char* balance : {"head_tail", "none"}) cases.push_back({mesh, "ring", balance});
        if (cp == 1) continue;
        cases.push_back({mesh, "all_gather"});
        if (kHeads / tp % cp == 0) cases.push_back({mesh, "ulysses"});
        if (cp == 4) cases.push_back({mesh, "hybrid", "head_tail", 2});
      }
  return cases;
}

/// Losses, gradients and weights computed by Hugging Face Transformers on one process.
inline void expectNumbersOfTransformers(const engine::TrainOutcome& outcome) {
  std::ifstream in(reference("llama/ref.json"));
  const auto log = nlohmann::json::parse(in)["steps_log"];
  ASSERT_EQ(outcome.steps.size(), log.size());
  for (std::size_t i = 0; i < log.size(); ++i) {
    EXPECT_NEAR(outcome.steps[i].loss, log[i]["loss"].get<double>(), 1e-5);
    EXPECT_NEAR(outcome.steps[i].grad_norm, log[i]["grad_norm"].get<double>(), 1e-5);
    EXPECT_EQ(outcome.steps[i].targets, log[i]["targets"].get<std::int64_t>());
  }
  const auto file = traces::SafeTensorsFile::read(reference("llama/ref.safetensors"));
  EXPECT_LE(
      (outcome.logits - engine::toTensor(file.at("logits"), "logits")).abs().max().item<double>(),
      1e-5);
  std::int64_t entries = 0, beyond = 0;
  for (const auto& [name, grad] : outcome.gradients) {
    const at::Tensor exact = engine::toTensor(file.at("grad." + name), name);
    EXPECT_LE((grad - exact).abs().max().item<double>(), 1e-5 * exact.abs().max().item<double>())
        << name;
    const at::Tensor weight_error =
        (outcome.weights.at(name) - engine::toTensor(file.at("weight." + name), name)).abs();
    EXPECT_LE(weight_error.max().item<double>(), 1e-4) << name;
    entries += weight_error.numel();
    beyond += (weight_error > 2e-6).sum().item<std::int64_t>();
  }
  EXPECT_EQ(outcome.gradients.size(), 21u);
  EXPECT_LE(beyond, entries / 10000);
}

}  // namespace ringscope::test
