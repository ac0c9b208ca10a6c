// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The origin of a recording that was made from another tool's files (kImportNote).
struct Imported {
  std::string format;  ///< "PyTorch profiler"
  std::int64_t collectives = 0, messages = 0;
  std::int64_t unmatched_collectives = 0, unmatched_messages = 0;
  std::vector<std::string> standing, lacks;  ///< sentences without the full stop
};

/// Returns the origin; nullopt for a recording of RingScope's engine or recorder.
std::optional<Imported> importedFrom(const Trace& trace);

/// Describes the origin: "PyTorch profiler · 33 collectives and 54 messages matched over ranks, 0
/// calls without the others".
std::string describe(const Imported& imported);

}  // namespace ringscope::traces
