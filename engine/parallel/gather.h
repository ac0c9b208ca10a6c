// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/transport/communicator.h"

namespace ringscope::engine {

/// The tensors of all ranks, in their order, on rank 0; nothing on the others. All have one shape
/// and type; what comes back is on the CPU and belongs to nobody else. Every rank of the group
/// calls it, and may change its tensor when it returns.
std::vector<at::Tensor> gatherToFirst(Communicator& group, const at::Tensor& mine);

/// The same for several tensors in one exchange: [tensor][rank].
std::vector<std::vector<at::Tensor>> gatherToFirst(Communicator& group,
                                                   const std::vector<at::Tensor>& mine);

}  // namespace ringscope::engine
