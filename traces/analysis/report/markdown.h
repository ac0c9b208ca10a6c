// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/doctor/diagnosis.h"

namespace ringscope::traces {

/// The picture of a finding in a report.
struct ReportPicture {
  std::string file;     ///< path relative to the report; empty: there is no picture
  std::string caption;  ///< "Positions at step 0 › …"
};

/// The contents of a report about one recording.
struct Report {
  std::string recording;             ///< path as the user gave it
  std::vector<std::string> summary;  ///< lines about the run
  Diagnosis diagnosis;
  std::vector<ReportPicture> pictures;  ///< one per finding, or empty
};

/// Returns text as Markdown that shows the same characters. Parts within backquotes stay code.
std::string escapeMarkdown(const std::string& text);

/// Returns a shell word that stands for this text.
std::string quoteForShell(const std::string& text);

/// Returns the commands that show a finding again, one per line.
std::string commandsFor(const Finding& finding, const std::string& recording);

/// Returns one finding as Markdown: evidence, what to change, how to reproduce, and where the
/// mistake was reported. `level` is the level of its heading.
std::string toMarkdown(const Finding& finding, const std::string& recording,
                       const ReportPicture& picture = {}, int level = 2);

/// Returns the report as Markdown.
std::string toMarkdown(const Report& report);

}  // namespace ringscope::traces
