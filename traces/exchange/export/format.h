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

/// The counts of what an export wrote, and what it could not write of the recording.
struct Exported {
  std::vector<std::pair<std::string, std::int64_t>> counts;  ///< {"events", 1204}, …
  std::vector<std::string> left_out;                         ///< sentences without the full stop
};

/// A format for other programs. It decodes all events of a recording and writes what the format can
/// represent.
struct ExportFormat {
  const char* name;       ///< value of --to
  const char* extension;  ///< extension of files of this format
  const char* says;       ///< a clause for the user
  Exported (*write)(const Trace& trace, std::ostream& out);
};

/// Returns all formats. A new format is a file in this folder and a line in registry.cpp.
std::span<const ExportFormat> exportFormats();

/// Writes a recording to a file, which appears when it is complete. From time to time calls
/// `goes_on` with the number of bytes written; when it returns false, the export stops without a
/// file. Throws usageError when there is no such format or the export was stopped. Throws
/// inputError when the file is the recording itself or cannot be written.
Exported exportTrace(const std::string& recording, std::string_view format,
                     const std::string& output,
                     const std::function<bool(std::uint64_t bytes)>& goes_on = nullptr);

Exported writePerfetto(const Trace& trace, std::ostream& out);
Exported writeChrome(const Trace& trace, std::ostream& out);
Exported writeCsv(const Trace& trace, std::ostream& out);
Exported writeTensors(const Trace& trace, std::ostream& out);

}  // namespace ringscope::traces
