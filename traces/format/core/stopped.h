// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

namespace ringscope::traces {

/// Whoever asked for something did not want it any more.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

}  // namespace ringscope::traces
