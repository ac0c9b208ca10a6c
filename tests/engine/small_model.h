// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <map>
#include <string>

#include "engine/model/llama_weights.h"
#include "engine/tensors/tensor_io.h"
#include "engine/train/train_config.h"
#include "tests/support/files.h"

namespace ringscope::test {

/// Returns the sample model's heads and layers with a quarter of its width. Most of the cost of a
/// recorded step is hashing, keeping and reading gradients and weights, and this model has a tenth
/// of them.
inline engine::LlamaConfig smallModel() {
  engine::LlamaConfig model;
  model.hidden_size = 32;
  model.intermediate_size = 64;
  model.head_dim = 8;
  model.initializer_range = 0.1;
  return model;
}

/// Returns a folder with this model that exists until the process ends.
inline const std::string& smallModelFolder() {
  static const TempDir kDir;
  static const std::string kFolder = [] {
    const engine::LlamaConfig model = smallModel();
    std::ofstream(kDir.file("config.json")) << model.toJson("float32").dump();
    engine::saveTensors(kDir.file("model.safetensors"),
                        engine::LlamaWeights::random(model, 3, at::kFloat).values());
    return kDir.file("");
  }();
  return kFolder;
}

/// Makes a run of the sample model train the small one.
inline void takeSmallModel(engine::TrainConfig& run) {
  const engine::LlamaConfig model = smallModel();
  run.model_dir = smallModelFolder();
  run.model.hidden_size = model.hidden_size;
  run.model.head_dim = model.head_dim;
}

}  // namespace ringscope::test
