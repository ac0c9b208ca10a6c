// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "traces/format/schema/ids.h"

namespace ringscope::engine {

/// Returns why this build or machine cannot use NCCL; empty: it can.
std::string ncclUnavailable();

/// Makes c10d's own NCCL backend, with one GPU per rank. For a failed or late operation, its
/// watchdog ends the communicator but not the process, so that the trace is still written; wait()
/// then throws. Values that the environment sets, such as TORCH_NCCL_ASYNC_ERROR_HANDLING, are
/// kept.
c10::intrusive_ptr<c10d::Backend> makeNcclBackend(const c10::intrusive_ptr<c10d::Store>& store,
                                                  traces::GroupRank rank, int size,
                                                  std::chrono::milliseconds timeout);

}  // namespace ringscope::engine
