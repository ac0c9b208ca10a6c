// SPDX-License-Identifier: Apache-2.0
#include "engine/train/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/model/llama_slices.h"
#include "engine/plan.h"
#include "engine/tensors/tensor_io.h"
#include "traces/format/core/checksum.h"
#include "traces/format/core/error.h"
#include "traces/format/core/input_file.h"
#include "traces/format/core/json.h"

namespace ringscope::engine {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kFormat = 3;
constexpr const char* kManifest = "manifest.json";

std::string nameFor(const CheckpointInfo& info) {
  char step[32];
  std::snprintf(step, sizeof step, "step-%08lld", static_cast<long long>(info.next_step));
  return std::string(step) + "-dp" + std::to_string(info.mesh.dp) + "-tp" +
         std::to_string(info.mesh.tp) + "-cp" + std::to_string(info.mesh.cp) + "-" + info.balance;
}

std::string fileOf(GroupRank tp) {
  return "tp-" + toString(tp) + ".safetensors";
}

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw runFailed("the checkpoint could not be saved: " + what + " " + path + ": " +
                  std::strerror(errno));
}

std::string checksumOf(const traces::Bytes& bytes) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(traces::checksum(bytes.data(), bytes.size())));
  return text;
}

json toJson(const CheckpointInfo& info) {
  return {{"format", kFormat},        {"dp", info.mesh.dp},
          {"tp", info.mesh.tp},       {"cp", info.mesh.cp},
          {"balance", info.balance},  {"next_step", info.next_step},
          {"seed", info.seed},        {"optimizer_steps", info.optimizer_steps},
          {"settings", info.settings}};
}

CheckpointInfo infoOf(const json& manifest) {
  return {{manifest.at("dp"), manifest.at("tp"), manifest.at("cp")},
          manifest.at("balance"),
          manifest.at("next_step"),
          manifest.at("seed"),
          manifest.at("optimizer_steps"),
          manifest.at("settings")};
}

}  // namespace

Checkpoint Checkpoint::open(const std::string& path) {
  const std::string manifest = path + "/" + kManifest;
  const json j = traces::readJson(manifest);
  Checkpoint checkpoint;
  checkpoint.path_ = path;
  try {
    if (j.at("format") != kFormat) throw inputError(manifest + ": is of another version");
    checkpoint.info_ = infoOf(j);
    for (const GroupRank tp : everyRank(checkpoint.info_.mesh.tp)) {
      const std::string file = path + "/" + fileOf(tp);
      traces::Bytes bytes = traces::readFileBytes(file);
      if (checksumOf(bytes) != j.at("files").at(fileOf(tp)))
        throw inputError(file + ": does not have the manifest's checksum");
      checkpoint.shards_.push_back(traces::SafeTensorsFile::parse(std::move(bytes), file));
    }
  } catch (const json::exception& error) {
    throw inputError(manifest + ": " + error.what());
  }
  return checkpoint;
}

std::set<std::string> Checkpoint::names() const {
  std::set<std::string> names;
  for (const auto& shard : shards_)
    for (const auto& tensor : shard.tensors()) names.insert(tensor.first);
  return names;
}

at::Tensor Checkpoint::whole(const std::string& name) const {
  std::vector<at::Tensor> parts;
  for (const auto& shard : shards_)
    if (shard.contains(name)) parts.push_back(toTensor(shard.at(name), name));
  if (parts.empty())
    throw inputError("the checkpoint has no '" + name +
                     "'; it is of another model or of another --dtype");
  try {
    return LlamaSlices::whole(name.substr(name.find('.') + 1), parts);
  } catch (const c10::Error&) {
    throw inputError(path_ + ": the parts of '" + name + "' do not fit each other");
  }
}

std::string CheckpointStore::finalPath(const CheckpointInfo& info) const {
  return folder_ + "/" + nameFor(info);
}
std::string CheckpointStore::temporaryPath(const CheckpointInfo& info) const {
  return folder_ + "/.saving-" + nameFor(info);
}

void CheckpointStore::operation() const {
  if (before_operation) before_operation(operations_);
  ++operations_;
}

void CheckpointStore::sync(const std::string& path) const {
  operation();
  const int fd = ::open(path.c_str(), O_RDONLY);
  if (fd < 0) fail("opening", path);
  const bool fine = ::fsync(fd) == 0;
  ::close(fd);
  if (!fine) fail("syncing", path);
}

void CheckpointStore::begin(const CheckpointInfo& info) const {
  std::error_code error;
  operation();
  fs::create_directories(folder_, error);
  operation();
  fs::remove_all(temporaryPath(info), error);  // left by a run that ended while saving
  operation();
  if (!fs::create_directory(temporaryPath(info), error)) fail("making", temporaryPath(info));
}

void CheckpointStore::saveShard(const CheckpointInfo& info, GroupRank tp,
                                const NamedTensors& tensors) const {
  const std::string path = temporaryPath(info) + "/" + fileOf(tp);
  operation();
  saveTensors(path, tensors);
  sync(path);
}

void CheckpointStore::finish(const CheckpointInfo& info) const {
  const std::string path = temporaryPath(info);
  json manifest = toJson(info);
  for (const GroupRank tp : everyRank(info.mesh.tp))
    manifest["files"][fileOf(tp)] = checksumOf(traces::readFileBytes(path + "/" + fileOf(tp)));
  operation();
  {
    std::ofstream out(path + "/" + kManifest);
    out << manifest.dump(2) << "\n";
    out.flush();
    if (!out) fail("writing", path + "/" + kManifest);
  }
  sync(path + "/" + kManifest);
  sync(path);
  operation();
  // The same step may have been saved before by a run that resumed from an earlier checkpoint. The
  // two folders are then exchanged in one operation.
  const bool again = fs::exists(finalPath(info));
  if (::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, finalPath(info).c_str(),
                  again ? RENAME_EXCHANGE : 0) != 0)
    fail("renaming", path);
  sync(folder_);
  std::error_code error;
  operation();
  fs::remove_all(path, error);
}

std::optional<Checkpoint> CheckpointStore::newest() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error))
    if (entry.path().filename().string().starts_with("step-"))
      names.push_back(entry.path().string());
  std::sort(names.rbegin(), names.rend());
  std::string damage;
  for (const std::string& path : names) {
    try {
      return Checkpoint::open(path);
    } catch (const Error& problem) {
      if (damage.empty()) damage = problem.what();
    }
  }
  if (!damage.empty()) throw inputError("no checkpoint of " + folder_ + " is whole: " + damage);
  return std::nullopt;
}

}  // namespace ringscope::engine
