// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace ringscope::app {

/// The most bytes of a child's standard error that an answer repeats.
inline constexpr std::size_t kMostNoteBytes = 4'000;

/// How long a child may run, and how much of its output is kept.
struct ChildLimits {
  std::chrono::milliseconds time = std::chrono::minutes(2);
  std::size_t bytes = 1 << 20;  ///< per stream; the child may write more, which is discarded
};

/// How a child ended, and what it wrote.
struct ChildResult {
  int exit_code = -1;  ///< 128 + the signal for a killed child
  bool timed_out = false;
  std::string out, err;
  std::size_t out_bytes = 0;  ///< all bytes of standard output, also discarded ones
};

/// Runs a program with an empty standard input until it ends, or kills it when its time is over.
/// Throws runFailed when it cannot be started.
ChildResult runChild(const std::vector<std::string>& command, const ChildLimits& limits);

}  // namespace ringscope::app
