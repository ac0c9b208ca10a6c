// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "engine/tensors/tensor_io.h"
#include "engine/train/training_run.h"
#include "traces/format/core/output_file.h"

namespace ringscope::app {

/// Writes the logits and gradients of step 0 and the weights after the last step into one
/// safetensors file, with the names logits, grad.NAME and weight.NAME. Throws a fileError when it
/// cannot.
inline void exportState(const std::string& path, const engine::TrainOutcome& outcome) {
  std::map<std::string, at::Tensor> tensors{{"logits", outcome.logits}};
  for (const auto& [name, grad] : outcome.gradients) tensors["grad." + name] = grad;
  for (const auto& [name, weight] : outcome.weights) tensors["weight." + name] = weight;
  engine::saveTensors(path, tensors);
}

/// Writes config.json and model.safetensors into a folder, as Hugging Face does. Creates the
/// folder; if that fails, writing the file reports the error.
inline void saveModel(const std::string& folder, traces::DType type,
                      const engine::TrainOutcome& outcome) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  engine::saveTensors(folder + "/model.safetensors", outcome.weights, {{"format", "pt"}});
  traces::OutputFile config(folder + "/config.json");
  config.stream() << outcome.model.toJson(traces::name(type)).dump(2) << "\n";
  config.finish();
}

}  // namespace ringscope::app
