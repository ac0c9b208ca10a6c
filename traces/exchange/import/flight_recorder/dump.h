// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/exchange/import/profile/job.h"

namespace ringscope::traces {

/// One entry of a dump, and the call that it describes.
struct DumpEntry {
  Call call;
  bool is_gloo = false;    ///< a Gloo call, whose posting alone is recorded
  bool timed_out = false;  ///< given up before it was complete
  bool started = false;
  std::string where;  ///< the line of the job that called it, as in "train.py:7 (main)"; empty when
                      ///< the dump has no stacks
};

/// A dump of PyTorch's Flight Recorder (torch/csrc/distributed/c10d/FlightRecorder.hpp), versions
/// 2.x, as a pickle or as JSON.
struct Dump {
  ProfiledRank rank;  ///< the rank without its calls
  std::vector<DumpEntry> entries;
  std::int64_t left_out = 0;   ///< entries that cannot be read
  std::string damage;          ///< why the file could not be read to its end; empty when it could
  bool names_members = false;  ///< at least one group has a list of its ranks
};

/// Reads a dump. Its rank is the number at the end of the file's name, as PyTorch names dumps.
/// Throws inputError when the file is no readable dump.
Dump readDump(const std::string& path);

/// Describes where ranks stood when their dumps were taken: which ranks have not called a
/// collective that others of the group have called, and which calls were not complete.
std::vector<std::string> describeStanding(const std::vector<Dump>& dumps);

}  // namespace ringscope::traces
