// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "traces/analysis/doctor/rule.h"
#include "traces/format/schema/framework.h"

namespace ringscope::traces {

/// What all rules say of one trace.
struct Diagnosis {
  struct Entry {
    std::string rule;
    RuleResult result;
  };
  std::vector<Entry> entries;
  std::string problem;                 ///< why no rule was asked; empty: all were
  std::vector<std::string> unread;     ///< parts of the recording that could not be read
  std::string failure;                 ///< "the run failed: REASON", where it did
  std::string reach;                   ///< what a clear rule does not speak of; reach.h
  std::optional<Framework> framework;  ///< what the run was written in; nothing: none that is known

  int count(Verdict verdict) const;
  std::vector<Finding> findings() const;
};

/// Runs every rule. Where none of them finds an error and a recorded verdict says that there is
/// one, the last entry is an unknown mistake. Reads the trace and nothing else.
Diagnosis diagnose(const Trace& trace);

/// What a rule that found nothing says, as a sentence without its full stop: what holds, or that
/// the recording cannot tell.
std::string headline(const Diagnosis::Entry& entry);

/// What was found, in a line. "Nothing found" is right only where something was looked for and all
/// that was recorded could be read; otherwise it says what of that was not so.
std::string headline(const Diagnosis& diagnosis);
/// That holds of it: the run came to its end, nothing was found, and nothing stood in the way of
/// finding it.
bool isClear(const Diagnosis& diagnosis);

/// What to change in the framework, and the reports, of a mistake of the catalogue; empty of any
/// other rule.
Fix fixOf(const std::string& rule, std::optional<Framework> framework);

/// Returns what a confidence means, as a clause.
const char* meaningOf(Confidence confidence);
nlohmann::json toJson(const Finding& finding);
nlohmann::json toJson(const Diagnosis& diagnosis);
/// The report for people: findings with evidence and remedy, then what was clear and what not seen.
std::string toText(const Diagnosis& diagnosis);

}  // namespace ringscope::traces
