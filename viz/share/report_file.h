// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/session/session.h"

namespace ringscope::viz {

/// The counts of a written report.
struct WrittenReport {
  int findings = 0, pictures = 0;
};

/// Writes a report about a recording whose session has a diagnosis: the summary, and for each
/// finding its picture, evidence, what to change and how to reproduce. A file name that ends in
/// .pdf gives a PDF. Other names give Markdown, with the pictures in PNG files beside it. Throws
/// inputError when a file cannot be written.
WrittenReport writeReport(const Session& session, const std::string& recording,
                          const std::string& output);

}  // namespace ringscope::viz
