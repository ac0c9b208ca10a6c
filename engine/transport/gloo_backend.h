// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "traces/format/schema/ids.h"

namespace ringscope::engine {

/// Returns false in a build without Gloo's headers.
bool hasGloo();

/// Makes c10d's own Gloo backend over TCP. `interface_addr` is the address of this side's
/// connections. Gloo's headers come from the distribution and its code from LibTorch. Only opaque
/// pointers cross between them, and only in gloo_backend.cpp.
c10::intrusive_ptr<c10d::Backend> makeGlooBackend(const c10::intrusive_ptr<c10d::Store>& store,
                                                  traces::GroupRank rank, int size,
                                                  const std::string& interface_addr,
                                                  std::chrono::milliseconds timeout);

}  // namespace ringscope::engine
