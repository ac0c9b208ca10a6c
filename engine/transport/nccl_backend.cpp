// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/nccl_backend.h"

#if RINGSCOPE_WITH_CUDA
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include <cstdlib>

#include "engine/gpu/gpu.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {

std::string ncclUnavailable() {
  const std::string reason = gpu::unavailable();
  return reason.empty() ? "" : "nccl needs one GPU a rank: " + reason;
}

#if RINGSCOPE_WITH_CUDA

namespace {

/// Sets the watchdog's policy. The value 2 ends the communicator but not the process.
void chooseWatchdogPolicy() {
  constexpr int kKeepWhatIsSet = 0;
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "2", kKeepWhatIsSet);
  ::setenv("TORCH_NCCL_BLOCKING_WAIT", "1", kKeepWhatIsSet);
  ::setenv("TORCH_NCCL_ENABLE_MONITORING", "0", kKeepWhatIsSet);
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> makeNcclBackend(const c10::intrusive_ptr<c10d::Store>& store,
                                                  traces::GroupRank rank, int size,
                                                  std::chrono::milliseconds timeout) {
  chooseWatchdogPolicy();
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank.value(), size, options);
}

#else

c10::intrusive_ptr<c10d::Backend> makeNcclBackend(const c10::intrusive_ptr<c10d::Store>&,
                                                  traces::GroupRank, int,
                                                  std::chrono::milliseconds) {
  throw usageError(ncclUnavailable());
}

#endif

}  // namespace ringscope::engine
