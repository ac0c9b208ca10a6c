// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/compared_runs.h"

#include "traces/analysis/doctor/checks.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/run_words.h"

namespace ringscope::viz {

void tellDiagnosis(const traces::Diagnosis& diagnosis, ComparedRun& run) {
  run.doctor_finds = !diagnosis.findings().empty();
  if (!diagnosis.problem.empty()) {
    run.doctor = {"▲ It could not read the recording: " + diagnosis.problem};
    return;
  }
  for (const traces::Finding& finding : diagnosis.findings())
    run.doctor.emplace_back("▲ " + finding.title + ". ")
        .append(finding.evidence)
        .append(" (" + finding.rule + ", " + name(finding.confidence) + ")");
  const traces::Checks checks = traces::countChecks(diagnosis);
  if (run.doctor.empty() || !diagnosis.unread.empty())
    run.doctor.emplace_back(traces::headline(diagnosis))
        .append(" · " + traces::describeCount(checks.clear, "rule"))
        .append(" clear, " + std::to_string(checks.not_made))
        .append(" not observable");
}

ComparedRuns compareFiles(RecordedFile& run, RecordedFile& other, RecordedFile* floor,
                          const traces::GoOn& go_on) {
  constexpr double kOpening = 0.1, kCompared = 0.9;  // of the work, as a guess
  // Snapshots, so that reading all events does not evict the chunks that the window shows.
  const auto a = run.trace()->snapshot(), b = other.trace()->snapshot();
  const auto equal = floor ? floor->trace()->snapshot() : nullptr;
  if (!traces::goesOn(go_on, kOpening)) return {};
  ComparedRuns runs{
      {run.path(), runHeadline(*a, false)},
      {other.path(), runHeadline(*b, false)},
      traces::compareRuns(*a, *b, equal.get(), traces::partFor(go_on, kOpening, kCompared))};
  if (traces::goesOn(go_on, kCompared)) tellDiagnosis(traces::diagnose(*b), runs.other);
  return runs;
}

traces::DifferenceMap mapOfFiles(RecordedFile& run, RecordedFile& other,
                                 const MapSubject& subject) {
  return traces::differenceMap(*run.trace(), *other.trace(), subject.place, subject.tensor);
}

}  // namespace ringscope::viz
