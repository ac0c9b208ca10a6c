// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// What an export wrote, and what of the recording it could not.
struct Exported {
  std::vector<std::pair<std::string, std::int64_t>> counts;  ///< {"events", 1204}, …
  std::vector<std::string> left_out;                         ///< sentences without their full stop
};

/// A format for other programs. Writes what it can say of a recording, whose events it decodes all.
struct ExportFormat {
  const char* name;       ///< of --to
  const char* extension;  ///< that such files have
  const char* says;       ///< a clause for the user
  Exported (*write)(const Trace& trace, std::ostream& out);
};

/// All formats; a new one is a file in this folder and a line in registry.cpp.
std::span<const ExportFormat> exportFormats();

/// Writes a recording to a file that appears when it is whole. `goes_on` is told, from time to
/// time, how many bytes are written; where it answers false there will be no file. Throws
/// usageError when there is no such format or it was stopped, inputError when the file is the
/// recording itself or cannot be written.
Exported exportTrace(const std::string& recording, std::string_view format,
                     const std::string& output,
                     const std::function<bool(std::uint64_t bytes)>& goes_on = nullptr);

Exported writePerfetto(const Trace& trace, std::ostream& out);
Exported writeChrome(const Trace& trace, std::ostream& out);
Exported writeCsv(const Trace& trace, std::ostream& out);
Exported writeTensors(const Trace& trace, std::ostream& out);

}  // namespace ringscope::traces
