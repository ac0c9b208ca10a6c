// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/model/llama_config.h"
#include "engine/parallel/mesh_groups.h"
#include "engine/verify/step_verifier.h"

namespace ringscope::engine {

/// Gathers a training step on the first rank of the mesh, and returns nothing on the other ranks.
/// The result is what the ranks of one cp group would have without dp and tp. It has the sequences
/// of all dp ranks, the heads of all tp ranks, and whole gradients. Every rank of the mesh calls it
/// with its own layers [B / dp, H / tp, S_local, D] and gradients. Sinks and their gradients have a
/// row per dp rank. If several tp ranks hold one KV head, their gradients of it are added.
std::vector<RankStep> gatherStep(MeshGroups& groups, const RankStep& mine,
                                 const LlamaConfig& model);

}  // namespace ringscope::engine
