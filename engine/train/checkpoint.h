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

/// What a checkpoint says of itself.
struct CheckpointInfo {
  Mesh mesh;
  std::string balance;
  std::int64_t next_step = 0;  ///< the first that has not been trained: sampler and random state
                               ///< are functions of it and of the seed
  std::uint64_t seed = 0;
  std::int64_t optimizer_steps = 0;
  /// What a run that goes on must have in common with the one that saved: by the option, or the
  /// word, that decides it.
  std::map<std::string, std::string> settings;
};

/// A checkpoint in memory: its tensors by "weight.NAME", "first.NAME", "second.NAME" and
/// "master.NAME", whole, whatever mesh saved them. Thread-safe.
class Checkpoint {
 public:
  /// Of one checkpoint's folder. Throws inputError when a file is missing or has not the manifest's
  /// checksum.
  static Checkpoint open(const std::string& path);

  const CheckpointInfo& info() const { return info_; }
  const std::string& path() const { return path_; }
  std::set<std::string> names() const;
  /// The parts of all tp ranks joined. Throws inputError when there is no such tensor, or its parts
  /// do not fit each other.
  at::Tensor whole(const std::string& name) const;

 private:
  std::string path_;
  CheckpointInfo info_;
  std::vector<traces::SafeTensorsFile> shards_;  // of each tp rank
};

/// Checkpoints of a run in a folder, each a folder of its own named after step and layout, with a
/// safetensors file of each tp rank and a manifest with checksums. What several ranks hold is in
/// one of the files, once. A checkpoint is written under another name, synced, and renamed at once,
/// so that whatever happens the last whole one can be loaded.
class CheckpointStore {
 public:
  explicit CheckpointStore(std::string folder) : folder_(std::move(folder)) {}

  /// Saving, in this order: begin() by one rank, saveShard() by one rank of each place in tp,
  /// finish() by one rank.
  void begin(const CheckpointInfo& info) const;
  void saveShard(const CheckpointInfo& info, GroupRank tp, const NamedTensors& tensors) const;
  void finish(const CheckpointInfo& info) const;

  /// The newest checkpoint whose files are all there and have their checksums; nothing: there is
  /// none. Throws inputError when there are some and all are damaged, and says what is wrong.
  std::optional<Checkpoint> newest() const;

  /// Called before every operation on files, with its number since construction; tests end the
  /// process there.
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
