// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/transport/communicator.h"

namespace ringscope::engine {

/// Gathers a tensor of each rank on rank 0, in rank order; other ranks get nothing. All tensors
/// have the same shape and type. The results are copies on the CPU. Every rank of the group must
/// call the function, and may change its tensor afterwards.
std::vector<at::Tensor> gatherToFirst(Communicator& group, const at::Tensor& mine);

/// Gathers several tensors in one exchange; returns [tensor][rank].
std::vector<std::vector<at::Tensor>> gatherToFirst(Communicator& group,
                                                   const std::vector<at::Tensor>& mine);

}  // namespace ringscope::engine
