// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "traces/exchange/import/profile/job.h"

namespace ringscope::traces {

/// One collective of a log.
struct InspectedCall {
  std::string communicator;  ///< hash of the communicator, the same on all its ranks
  std::int32_t place = 0;    ///< rank in the communicator
  Call call;
};

/// A log that NCCL's Inspector plugin wrote for one process (NVIDIA/nccl, ext-profiler/inspector,
/// format v4.0): one JSON object per line and per collective.
struct InspectorLog {
  std::string path;
  std::map<std::string, std::int32_t> sizes;  ///< number of ranks of each communicator
  std::vector<InspectedCall> calls;
  std::int64_t left_out = 0;  ///< lines that cannot be read
  bool has_times = false;     ///< the log has when calls began (NCCL_INSPECTOR_DUMP_VERBOSE=1)
  std::string damage;         ///< why the file could not be read to its end
};

/// Reads a log. Throws inputError when the file cannot be read.
InspectorLog readInspectorLog(const std::string& path);

}  // namespace ringscope::traces
