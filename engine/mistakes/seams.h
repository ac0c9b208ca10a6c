// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/attention/merge.h"
#include "engine/parallel/mesh_groups.h"

namespace ringscope::engine {

/// Reduces the flattened gradients of one rank over the dp × cp ranks, in place.
using GradientReduction = std::function<void(MeshGroups& groups, at::Tensor& flat_gradients)>;

/// The places of the engine where a mistake can be made, with what a correct run does there. A
/// mistake replaces one of these; the engine itself never asks whether one is injected.
struct Seams {
  MergeRule merge = mergeBlock;
  /// Buffers of a batch that are cut along the sequence before the step.
  std::set<std::string> sharded_buffers = {"input_ids", "labels", "position_ids"};
  GradientReduction reduce_gradients = [](MeshGroups& groups, at::Tensor& flat) {
    groups.dpCp().allReduceSum(flat);
  };
};

/// A mistake that can be injected: an id of the catalogue and what it does to the seams.
struct InjectableMistake {
  std::string id;
  void (*inject)(Seams& seams);
};

/// All of them; a new one is a file in this folder and a line in registry.cpp.
const std::vector<InjectableMistake>& injectableMistakes();

/// Throws usageError when the id is not in the catalogue, or cannot be injected; lists those that
/// can.
void inject(const std::string& id, Seams& seams);

}  // namespace ringscope::engine
