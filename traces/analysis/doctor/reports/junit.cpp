// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/reports/junit.h"

#include "traces/analysis/doctor/checks.h"
#include "traces/format/core/utf8.h"

namespace ringscope::traces {
namespace {

/// For an attribute or an element. XML 1.0 has no other control characters than these three, and
/// neither U+FFFE nor U+FFFF.
std::string escaped(const std::string& words) {
  std::string plain = toUtf8(words), out;
  for (const char* none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (std::size_t at = 0; (at = plain.find(none, at)) != std::string::npos;)
      plain.replace(at, 3, "\uFFFD");
  for (const char c : plain) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (byte < 0x20) {
      const bool allowed = c == '\t' || c == '\n' || c == '\r';
      out += allowed ? "&#" + std::to_string(byte) + ";" : "\uFFFD";
    } else {
      out += c;
    }
  }
  return out;
}

std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + escaped(value) + "\"";
}

std::string skipped(const std::string& why) {
  return "      <skipped" + attribute("message", why) + "/>\n";
}

/// Each on lines of its own.
std::string fixAndLinks(const Fix& fix) {
  std::string words;
  if (!fix.text.empty()) words += "\n\nIn " + fix.framework + ":\n\n" + fix.text;
  for (const std::string& link : fix.links) words += "\n" + link;
  return words;
}

std::string failure(const Finding& finding) {
  return "      <failure" + attribute("type", name(finding.severity)) +
         attribute("message", finding.title) + ">" +
         escaped(Baseline::identityFor(finding) + "; " + describe(finding.place) + ": " +
                 finding.evidence + " What to change: " + finding.remedy +
                 fixAndLinks(finding.fix)) +
         "</failure>\n";
}

/// The counts of a test suite.
struct Counts {
  int tests = 0, failures = 0, errors = 0, skipped = 0;
};

std::string caseOf(const std::string& name, const std::string& inner) {
  return "    <testcase classname=\"ringscope.doctor\"" + attribute("name", name) +
         (inner.empty() ? "/>\n" : ">\n" + inner + "    </testcase>\n");
}

std::string whySkipped(const Diagnosis::Entry& entry) {
  if (!entry.applies()) return "does not apply: " + entry.does_not_apply;
  if (entry.result.verdict == Verdict::kFound) return "known, and accepted by the baseline";
  const std::string added = describeRemedies(entry);
  return entry.result.would_settle + (added.empty() ? "" : ". To add: " + added);
}

std::string caseOf(const Diagnosis::Entry& entry, const Baseline& baseline, Counts& counts) {
  ++counts.tests;
  std::string failures;
  for (const Finding& finding : entry.result.findings)
    if (!baseline.accepts(finding)) failures += failure(finding);
  if (!failures.empty()) {
    ++counts.failures;
    return caseOf(entry.rule, failures);
  }
  if (entry.applies() && entry.result.verdict == Verdict::kClear) return caseOf(entry.rule, "");
  ++counts.skipped;
  return caseOf(entry.rule, skipped(whySkipped(entry)));
}

/// One case for what stood in the way of looking; empty where nothing did.
std::string obstacles(const Diagnosis& diagnosis, Counts& counts) {
  std::vector<std::string> all = diagnosis.unread;
  if (!diagnosis.failure.empty()) all.insert(all.begin(), diagnosis.failure);
  if (all.empty()) return "";
  ++counts.tests;
  ++counts.errors;
  std::string inner;
  for (const std::string& words : all)
    inner += "      <error" + attribute("message", words) + "/>\n";
  return caseOf("recording", inner);
}

}  // namespace

std::string toJunit(const Diagnosis& diagnosis, const std::string& trace,
                    const Baseline& baseline) {
  Counts counts;
  std::string cases = obstacles(diagnosis, counts);
  for (const auto& entry : diagnosis.entries) cases += caseOf(entry, baseline, counts);
  const std::string totals = attribute("tests", std::to_string(counts.tests)) +
                             attribute("failures", std::to_string(counts.failures)) +
                             attribute("errors", std::to_string(counts.errors)) +
                             attribute("skipped", std::to_string(counts.skipped));
  const std::string properties =
      "    <properties>\n      <property" + attribute("name", "headline") +
      attribute("value", headline(diagnosis)) + "/>\n    </properties>\n";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + totals + ">\n  <testsuite" +
         attribute("name", "ringscope doctor " + trace) + totals + ">\n" + properties + cases +
         "  </testsuite>\n</testsuites>\n";
}

}  // namespace ringscope::traces
