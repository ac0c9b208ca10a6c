// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "traces/analysis/compare/run_comparison.h"
#include "viz/scene/compared_map.h"
#include "viz/scene/recorded_file.h"

namespace ringscope::traces {
struct Diagnosis;
}

namespace ringscope::viz {

/// One of two recordings that are compared.
struct ComparedRun {
  std::string path;
  std::string headline;  ///< "sample, 2 layers · 256 tokens · 4 ranks · …"; empty: not recorded
  std::vector<std::string> doctor{};  ///< what it says of this one by itself: a finding a line
  bool doctor_finds = false;
};

/// Writes down what the doctor says: "▲ TITLE. EVIDENCE (RULE, certain)", or that nothing was
/// found.
void tellDiagnosis(const traces::Diagnosis& diagnosis, ComparedRun& run);

/// Two recordings and what `ringscope diff` says of them. It holds none of their tensors.
struct ComparedRuns {
  ComparedRun run, other;
  traces::RunComparison comparison;
};

/// Compares two recordings, as the command does, and asks the doctor about the second; `floor`: a
/// second recording of what `other` is one of, or null. Throws inputError that names the file that
/// cannot be read, or says why the two cannot be compared. When `go_on` ends it early, what it
/// returns is worth nothing.
ComparedRuns compareFiles(RecordedFile& run, RecordedFile& other, RecordedFile* floor,
                          const traces::GoOn& go_on);

/// Returns the differences of two recordings in a tensor. Throws inputError that says what cannot
/// be read.
traces::DifferenceMap mapOfFiles(RecordedFile& run, RecordedFile& other, const MapSubject& subject);

}  // namespace ringscope::viz
