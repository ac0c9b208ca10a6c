// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "tests/support/trace_builder.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/doctor/readings.h"

namespace ringscope::test {

inline traces::RuleResult answerFrom(const std::string& rule, const traces::Trace& trace) {
  for (const traces::Rule& known : traces::rules())
    if (known.id == rule) return known.check(traces::Readings(trace));
  throw usageError("there is no rule " + rule);
}
inline traces::RuleResult answerFrom(const std::string& rule, const std::string& text) {
  return answerFrom(rule, *makeTrace(text));
}
inline traces::Verdict findVerdict(const std::string& rule, const std::string& text) {
  return answerFrom(rule, text).verdict;
}

/// Returns the finding of this rule, and expects that no other of the rules finds anything.
inline traces::Finding foundAlone(std::span<const char* const> rules, const std::string& rule,
                                  const std::string& text) {
  traces::Finding finding;
  for (const char* other : rules) {
    const traces::RuleResult answer = answerFrom(other, text);
    EXPECT_EQ(answer.verdict == traces::Verdict::kFound, other == rule)
        << other << answer.would_settle << text;
    if (other == rule && answer.findings.size() == 1) finding = answer.findings.front();
  }
  return finding;
}

inline bool says(const traces::Finding& finding, const std::string& words) {
  return finding.evidence.find(words) != std::string::npos;
}
/// Returns the only finding of an answer.
inline traces::Finding only(const traces::RuleResult& answer) {
  EXPECT_EQ(answer.verdict, traces::Verdict::kFound) << answer.would_settle;
  return answer.findings.size() == 1 ? answer.findings.front() : traces::Finding();
}

}  // namespace ringscope::test
