// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/model/llama_config.h"
#include "engine/parallel/mesh_groups.h"
#include "engine/verify/step_verifier.h"

namespace ringscope::engine {

/// What the ranks of the mesh had in a training step, on its first rank, as the ranks of one cp
/// group would have had it without dp and tp: the sequences of all dp ranks, the heads of all tp
/// ranks, whole gradients. Nothing on the others. Every rank of the mesh calls it, with its own
/// layers [B / dp, H / tp, S_local, D] and gradients.
/// Sinks and their gradients have a row for each dp rank. Where several tp ranks hold one KV head,
/// the gradients that each of them has for it are added.
std::vector<RankStep> gatherStep(MeshGroups& groups, const RankStep& mine,
                                 const LlamaConfig& model);

}  // namespace ringscope::engine
