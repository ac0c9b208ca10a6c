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
  std::string folder = "llama";  ///< folder of the model and its results in tests/reference

  std::string name() const {
    return "dp" + std::to_string(mesh.dp) + "_tp" + std::to_string(mesh.tp) + "_cp" +
           std::to_string(mesh.cp) + "_" + strategy + "_" + balance;
  }
  engine::TrainConfig config() const {
    engine::TrainConfig config;
    config.model_dir = reference(folder + "/model");
    config.tokens = reference(folder + "/tokens.safetensors");
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

/// Returns every mesh of up to 8 ranks made of 1, 2, 4, with every strategy that its 8 / tp query
/// heads allow.
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

/// Compares losses, gradient norms, logits and gradients with those of Hugging Face Transformers on
/// one process, which `file` contains.
inline void expectStepsOfTransformers(const engine::TrainOutcome& outcome,
                                      const std::string& folder,
                                      const traces::SafeTensorsFile& file) {
  std::ifstream in(reference(folder + "/ref.json"));
  const auto log = nlohmann::json::parse(in)["steps_log"];
  ASSERT_EQ(outcome.steps.size(), log.size());
  for (std::size_t i = 0; i < log.size(); ++i) {
    EXPECT_NEAR(outcome.steps[i].loss, log[i]["loss"].get<double>(), 1e-5);
    const auto norm = log[i]["grad_norm"].get<double>();
    EXPECT_NEAR(outcome.steps[i].grad_norm, norm, 1e-5 * std::max(1.0, norm));
    EXPECT_EQ(outcome.steps[i].targets, log[i]["targets"].get<std::int64_t>());
  }
  const at::Tensor logits = engine::toTensor(file.at("logits"), "logits");
  EXPECT_LE((outcome.logits - logits).abs().max().item<double>(),
            std::max(1.0, logits.abs().max().item<double>()) * 1e-5);
  std::size_t gradients = 0;
  for (const auto& entry : file.tensors()) gradients += entry.first.starts_with("grad.");
  EXPECT_EQ(outcome.gradients.size(), gradients);
  for (const auto& [name, grad] : outcome.gradients) {
    const at::Tensor exact = engine::toTensor(file.at("grad." + name), name);
    EXPECT_LE((grad - exact).abs().max().item<double>(), 1e-5 * exact.abs().max().item<double>())
        << name;
  }
}

/// Compares the same numbers and the weights after the last step.
inline void expectNumbersOfTransformers(const engine::TrainOutcome& outcome) {
  const auto file = traces::SafeTensorsFile::read(reference("llama/ref.safetensors"));
  expectStepsOfTransformers(outcome, "llama", file);
  std::int64_t entries = 0, beyond = 0;
  for (const auto& [name, weight] : outcome.weights) {
    const at::Tensor error = (weight - engine::toTensor(file.at("weight." + name), name)).abs();
    EXPECT_LE(error.max().item<double>(), 1e-4) << name;
    entries += error.numel();
    beyond += (error > 2e-6).sum().item<std::int64_t>();
  }
  EXPECT_LE(beyond, entries / 10000);
}

}  // namespace ringscope::test
