// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/plan.h"
#include "traces/format/safetensors/safetensors.h"

namespace ringscope::engine {

using NamedTensors = std::map<std::string, at::Tensor>;

/// The manifest of a checkpoint.
struct CheckpointInfo {
  Mesh mesh;
  std::string balance;
  std::int64_t next_step = 0;  ///< the first step that has not been trained; sampler and random
                               ///< state depend only on it and the seed
  std::uint64_t seed = 0;
  std::int64_t optimizer_steps = 0;
  /// The settings that a resumed run must share with the run that saved the checkpoint, by the
  /// option or word that decides each.
  std::map<std::string, std::string> settings;
};

/// A checkpoint in memory. Its tensors are "weight.NAME", "first.NAME", "second.NAME" and
/// "master.NAME", whole, whatever mesh saved them. Thread-safe.
class Checkpoint {
 public:
  /// Opens the folder of one checkpoint. Throws inputError if a file is missing or its checksum
  /// differs from the manifest's.
  static Checkpoint open(const std::string& path);

  const CheckpointInfo& info() const { return info_; }
  const std::string& path() const { return path_; }
  std::set<std::string> names() const;
  /// Returns a tensor joined from the parts of all tp ranks. Throws inputError if the tensor does
  /// not exist or its parts do not match.
  at::Tensor whole(const std::string& name) const;

 private:
  std::string path_;
  CheckpointInfo info_;
  std::vector<traces::SafeTensorsFile> shards_;  // one per tp rank
};

/// The checkpoints of a run in a folder. Each is a folder named after step and layout, with one
/// safetensors file per tp rank and a manifest with checksums. Data that several ranks hold is
/// stored once. A checkpoint is written under a temporary name, synced and then renamed, so that
/// the last complete checkpoint can always be loaded.
class CheckpointStore {
 public:
  explicit CheckpointStore(std::string folder) : folder_(std::move(folder)) {}

  /// Begins to save a checkpoint; called by one rank. saveShard() and then finish() must follow.
  void begin(const CheckpointInfo& info) const;
  /// Saves the tensors of one tp place; called by one rank per place.
  void saveShard(const CheckpointInfo& info, GroupRank tp, const NamedTensors& tensors) const;
  /// Completes the checkpoint; called by one rank after all places were saved.
  void finish(const CheckpointInfo& info) const;

  /// Returns the newest checkpoint whose files are all present and match their checksums; nullopt:
  /// there are no checkpoints. If all checkpoints are damaged, throws inputError that says how.
  std::optional<Checkpoint> newest() const;

  /// Called before every file operation with the number of operations so far; tests end the process
  /// here.
  std::function<void(int)> before_operation;

 private:
  std::string finalPath(const CheckpointInfo& info) const;
  std::string temporaryPath(const CheckpointInfo& info) const;
  void operation() const;
  void sync(const std::string& path) const;

  std::string folder_;
  mutable int operations_ = 0;
};

}  // namespace ringscope::engine
