// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/gloo_backend.h"

#include <cstdlib>

#if RINGSCOPE_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif

#include "traces/format/core/error.h"

namespace ringscope::engine {

#if RINGSCOPE_GLOO

namespace {

/// Disables c10d's flight recorder. It is shared by the whole process, and rank threads that begin
/// to record at once corrupt its map (seen in LibTorch 2.11). Set before any thread starts; an
/// existing value stays.
[[maybe_unused]] const int kNoFlightRecorder = setenv("TORCH_FR_BUFFER_SIZE", "0", 0);

}  // namespace

bool hasGloo() {
  return true;
}

c10::intrusive_ptr<c10d::Backend> makeGlooBackend(const c10::intrusive_ptr<c10d::Store>& store,
                                                  traces::GroupRank rank, int size,
                                                  const std::string& interface_addr,
                                                  std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(interface_addr));
  options->threads = 1;
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank.value(), size, options);
}

#else

bool hasGloo() {
  return false;
}

c10::intrusive_ptr<c10d::Backend> makeGlooBackend(const c10::intrusive_ptr<c10d::Store>&,
                                                  traces::GroupRank, int, const std::string&,
                                                  std::chrono::milliseconds) {
  throw usageError("this build has no gloo; install libgloo-dev and build again");
}

#endif

}  // namespace ringscope::engine
