// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/exchange/import/profile/job.h"

namespace ringscope::traces {

/// One entry of a dump, beside the call that is made of it.
struct DumpEntry {
  Call call;
  bool is_gloo = false;    ///< of which only its posting is recorded
  bool timed_out = false;  ///< it was given up before it was complete
  bool started = false;
};

/// A dump of PyTorch's Flight Recorder as JSON (torch/csrc/distributed/c10d/FlightRecorder.hpp),
/// versions 2.x.
struct Dump {
  ProfiledRank rank;  ///< without its calls
  std::vector<DumpEntry> entries;
  std::int64_t left_out = 0;   ///< entries that cannot be read
  bool names_members = false;  ///< some group has its ranks
};

/// Reads a dump; its rank is the number at the end of the file's name, as PyTorch names dumps.
/// Throws inputError.
Dump readDump(const std::string& path);

/// Where ranks stood when their dumps were taken: who has not called what others of its group have,
/// and what was called and is not complete.
std::vector<std::string> standingOf(const std::vector<Dump>& dumps);

}  // namespace ringscope::traces
