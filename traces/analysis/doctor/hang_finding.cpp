// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/hang_finding.h"

#include "traces/format/trace/hang.h"

namespace ringscope::traces {

std::optional<Finding> hangFinding(const Trace& trace) {
  const std::vector<Hang> hangs = findHangs(trace);
  if (hangs.empty()) return std::nullopt;
  const Hang& first = hangs.front();
  Finding finding;
  finding.rule = kHang;
  finding.severity = first.certain ? Severity::kError : Severity::kWarning;
  finding.confidence = first.certain ? Confidence::kCertain : Confidence::kLikely;
  finding.title = first.different
                      ? "The job hung: ranks waited in different collectives or messages"
                      : "Ranks waited for a rank that did not come";
  finding.place.train_step = first.train_step;
  finding.rank = first.rank;
  for (const Hang& hang : hangs)
    finding.evidence += (finding.evidence.empty() ? "" : " ") + describe(hang);
  finding.remedy =
      first.different
          ? "Make all ranks of a group call the same collectives in the same order, and let each "
            "send meet its receive; look at the lines of the job that are named."
          : "Look at what the rank that did not come was doing: it must call the same collectives "
            "as often as the others. If it was only slow, the others would have gone on.";
  return finding;
}

}  // namespace ringscope::traces
