// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/compared_runs.h"

#include "traces/analysis/doctor/checks.h"
#include "traces/exchange/import/open_trace.h"
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

ComparedRuns compareFiles(const std::string& run, const std::string& other,
                          const std::string& floor, const traces::GoOn& go_on) {
  constexpr double kOpening = 0.1, kCompared = 0.9;  // of the work, as a guess
  const auto a = traces::openTrace(run), b = traces::openTrace(other);
  const auto equal = floor.empty() ? nullptr : traces::openTrace(floor);
  if (!traces::goesOn(go_on, kOpening)) return {};
  ComparedRuns runs{
      {run, runHeadline(*a, false)},
      {other, runHeadline(*b, false)},
      traces::compareRuns(*a, *b, equal.get(), traces::partFor(go_on, kOpening, kCompared))};
  if (traces::goesOn(go_on, kCompared)) tellDiagnosis(traces::diagnose(*b), runs.other);
  return runs;
}

traces::DifferenceMap mapOfFiles(const std::string& run, const std::string& other,
                                 const MapSubject& subject) {
  const auto a = traces::openTrace(run), b = traces::openTrace(other);
  return traces::differenceMap(*a, *b, subject.place, subject.tensor);
}

}  // namespace ringscope::viz
