// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>

namespace ringscope::test {

/// Asks every millisecond until `condition` is true, and no longer than the deadline. Returns
/// whether it came true. Only a test that fails takes the whole time.
template <typename Condition>
bool eventually(Condition condition,
                std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace ringscope::test
