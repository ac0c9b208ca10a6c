// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "traces/analysis/doctor/checks.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// Each line of it moved to the right.
std::string indented(const std::string& text) {
  std::string all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    all += (line.empty() ? "" : "    " + line) + "\n";
  return all;
}

/// Returns what the confidences of the findings mean.
std::string legendOf(const std::vector<Finding>& findings) {
  std::string words;
  for (const Confidence confidence : {Confidence::kCertain, Confidence::kLikely})
    if (std::ranges::find(findings, confidence, &Finding::confidence) != findings.end())
      words +=
          std::string(words.empty() ? "" : "; ") + name(confidence) + ": " + explain(confidence);
  return words.empty() ? "" : words + "\n";
}

/// "rank 2", and with whom it shares a sequence.
std::string rankFor(const Finding& finding) {
  if (!finding.rank.exists()) return "";
  std::string group;
  for (const WorldRank rank : finding.group) group += (group.empty() ? "" : ", ") + toString(rank);
  return " · rank " + toString(finding.rank) +
         (finding.group.size() > 1 ? " · cp group " + group : "");
}

std::string fixWords(const Fix& fix) {
  return fix.text.empty() ? "" : "  In " + fix.framework + ":\n" + indented(fix.text);
}

/// Returns the rules that could not judge, by what would let them.
std::string describeAdvice(const Diagnosis& diagnosis) {
  std::string text;
  for (const Advice& advice : adviceFrom(diagnosis)) {
    text += "  " + describe(advice) + "\n";
    for (const Diagnosis::Entry* entry : advice.checks)
      text += "    " + entry->rule + ": " + describeLack(*entry) + "\n";
  }
  return text.empty() ? "" : "To make more checks:\n" + text;
}

}  // namespace

std::string describe(const Checks& checks) {
  return describeCount(checks.clear, "rule") + " clear, " + std::to_string(checks.not_made) +
         " not observable" +
         (checks.not_applying == 0
              ? ""
              : ", " + std::to_string(checks.not_applying) +
                    (checks.not_applying == 1 ? " does" : " do") + " not apply to this run");
}

std::string toText(const Diagnosis& diagnosis) {
  std::string text;
  const std::vector<Finding> findings = diagnosis.findings();
  for (const Finding& finding : findings) {
    text += "✗ " + finding.title + "\n  " + finding.rule + " · " + name(finding.confidence) +
            " · " + describe(finding.place) + rankFor(finding) +
            (finding.buffer.empty() ? "" : " · " + finding.buffer) + "\n  " + finding.evidence +
            "\n  What to change: " + finding.remedy + "\n" + fixWords(finding.fix);
    if (const Mistake* mistake = findMistake(finding.rule))
      text += "  Reported in: " + mistake->reported_in + "\n";
    for (const std::string& link : finding.fix.links) text += "    " + link + "\n";
  }
  text += legendOf(findings);
  if (text.empty() || !diagnosis.failure.empty() || !diagnosis.unread.empty())
    text = headline(diagnosis) + "\n" + text;
  text += describe(countChecks(diagnosis)) + "\n";
  if (!diagnosis.reach.empty()) text += diagnosis.reach + "\n";
  return text + describeAdvice(diagnosis);
}

}  // namespace ringscope::traces
