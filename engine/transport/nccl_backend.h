// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "traces/format/schema/ids.h"

namespace ringscope::engine {

/// Why this build or machine cannot use NCCL; empty: it can.
std::string ncclUnavailable();

/// c10d's own NCCL backend, one GPU a rank. Its watchdog ends the communicator of a failed or late
/// operation and leaves the process alone, so that the trace is still written; wait() then throws.
/// An environment that sets TORCH_NCCL_ASYNC_ERROR_HANDLING and its like keeps its own policy.
c10::intrusive_ptr<c10d::Backend> makeNcclBackend(const c10::intrusive_ptr<c10d::Store>& store,
                                                  traces::GroupRank rank, int size,
                                                  std::chrono::milliseconds timeout);

}  // namespace ringscope::engine
