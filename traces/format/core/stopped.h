// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

namespace ringscope::traces {

/// The exception with which work ends that its caller has cancelled.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

}  // namespace ringscope::traces
