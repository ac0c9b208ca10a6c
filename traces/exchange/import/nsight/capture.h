// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/exchange/import/profile/job.h"

namespace ringscope::traces {

/// The table with the wall clock at the start of a capture.
inline constexpr const char* kStartOfCapture = "TARGET_INFO_SESSION_START_TIME";

/// One process of a capture. Times are nanoseconds since the capture began.
struct CapturedProcess {
  std::int64_t device = -1;  ///< the device of its first kernel
  bool several_devices = false;
  std::vector<Call> calls;    ///< kernels of NCCL; the thread is the device's stream
  std::vector<Event> stages;  ///< kernels of attention
};

/// A SQLite export of Nsight Systems (`nsys export --type sqlite`). The schema is that of the
/// "Nsight Systems User Guide", and tables and columns differ between versions.
struct Capture {
  std::string path;
  std::map<std::int64_t, CapturedProcess> processes;  ///< processes with kernels, by their id
  std::optional<std::int64_t> began_ns;               ///< wall clock when the capture began
  bool marks_steps = false;
  std::int64_t messages = 0;         ///< kernels of sends and receives, which name no peer
  std::int64_t unnamed = 0;          ///< kernels of NCCL that carry out several operations
  std::int64_t left_out = 0;         ///< kernels with impossible times
  std::vector<std::string> missing;  ///< tables that the file lacks
  std::vector<std::string> damage;   ///< tables that could not be read to their end
};

/// Reads an export. Throws inputError when the file is not one.
Capture readCapture(const std::string& path);

}  // namespace ringscope::traces
