// SPDX-License-Identifier: Apache-2.0
#include "engine/train/checkpoint.h"

#include <filesystem>
#include <iostream>

#include "app/command_line/command.h"
#include "engine/tensors/tensor_io.h"
#include "traces/format/core/error.h"
#include "traces/format/core/output_file.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"

namespace ringscope::app {
namespace {

namespace fs = std::filesystem;

struct CheckpointOptions {
  std::string folder, out;
  bool optimizer = false, json = false;
};

/// Opens the newest checkpoint in a folder that `train --checkpoint` wrote, or `folder` itself if
/// it is a checkpoint.
engine::Checkpoint opened(const std::string& folder) {
  if (fs::exists(folder + "/manifest.json")) return engine::Checkpoint::open(folder);
  auto newest = engine::CheckpointStore(folder).newest();
  if (!newest) throw inputError(folder + ": there is no checkpoint");
  return std::move(*newest);
}

/// Returns the weights under the names that Hugging Face uses. With `optimizer`, adds the
/// optimizer's tensors under their own names.
std::map<std::string, at::Tensor> tensorsOf(const engine::Checkpoint& checkpoint, bool optimizer) {
  constexpr std::string_view kWeight = "weight.";
  std::map<std::string, at::Tensor> tensors;
  for (const std::string& name : checkpoint.names())
    if (name.starts_with(kWeight))
      tensors[name.substr(kWeight.size())] = checkpoint.whole(name);
    else if (optimizer)
      tensors[name] = checkpoint.whole(name);
  return tensors;
}

void write(const CheckpointOptions& o, const engine::Checkpoint& checkpoint) {
  std::vector<traces::NamedPath> inputs;
  for (const auto& file : fs::directory_iterator(checkpoint.path()))
    inputs.push_back({"the checkpoint", file.path().string()});
  traces::checkOutputs(inputs, {{"-o", o.out}});
  engine::saveTensors(o.out, tensorsOf(checkpoint, o.optimizer), {{"format", "pt"}});
}

nlohmann::json describe(const engine::Checkpoint& checkpoint) {
  const engine::CheckpointInfo& info = checkpoint.info();
  std::int64_t bytes = 0, parameters = 0;
  for (const auto& file : fs::directory_iterator(checkpoint.path()))
    bytes += static_cast<std::int64_t>(file.file_size());
  for (const std::string& name : checkpoint.names())
    if (name.starts_with("weight.")) parameters += checkpoint.whole(name).numel();
  return {{"path", traces::toUtf8(checkpoint.path())},
          {"next_step", info.next_step},
          {"dp", info.mesh.dp},
          {"tp", info.mesh.tp},
          {"cp", info.mesh.cp},
          {"balance", info.balance},
          {"parameters", parameters},
          {"bytes", bytes},
          {"settings", info.settings}};
}

void printText(const nlohmann::json& j) {
  std::cout << j["path"].get<std::string>() << "\n"
            << "after " << traces::describeCount(j["next_step"], "step") << " of dp " << j["dp"]
            << " · tp " << j["tp"] << " · cp " << j["cp"] << " · balance "
            << j["balance"].get<std::string>() << ", "
            << traces::describeCount(j["parameters"], "parameter") << ", "
            << traces::describeBytes(j["bytes"]) << "\n";
  for (const auto& [setting, value] : j["settings"].items())
    if (setting.starts_with("--")) std::cout << setting << " " << value.get<std::string>() << "\n";
}

}  // namespace

void defineCheckpoint(CLI::App& command, int&) {
  auto o = std::make_shared<CheckpointOptions>();
  command
      .add_option("FOLDER", o->folder,
                  "A folder that train --checkpoint wrote. Its newest complete checkpoint is used")
      ->required();
  command.add_option(
      "-o,--output", o->out,
      "Write the complete weights to this safetensors file under their Hugging Face names");
  command.add_flag("--optimizer", o->optimizer,
                   "With -o: also write the optimizer's first.NAME, second.NAME and master.NAME");
  command.add_flag("--json", o->json, "Print as JSON");
  command.callback([o] {
    const engine::Checkpoint checkpoint = opened(o->folder);
    if (!o->out.empty()) write(*o, checkpoint);
    const auto description = describe(checkpoint);
    o->json ? void(std::cout << description.dump(2) << "\n") : printText(description);
  });
}

}  // namespace ringscope::app
