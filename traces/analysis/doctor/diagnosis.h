// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "traces/analysis/doctor/rule.h"
#include "traces/format/schema/framework.h"

namespace ringscope::traces {

/// The answers of all rules about one trace.
struct Diagnosis {
  struct Entry {
    std::string rule;
    RuleResult result;
    std::string lacks{};           ///< what a rule that cannot judge needs, without advice
    std::string does_not_apply{};  ///< why the mistake cannot be made in this run; empty: it can

    bool applies() const { return does_not_apply.empty(); }
  };
  std::vector<Entry> entries;
  std::string problem;                  ///< why no rule was asked; empty: all were
  std::vector<std::string> unread;      ///< parts of the recording that could not be read
  std::vector<std::string> unrecorded;  ///< facts that an imported job did not record
  std::string failure;                  ///< "the run failed: REASON", where it did
  std::string reach;                    ///< what a clear rule does not speak of; reach.h
  std::optional<Framework> framework;  ///< what the run was written in; nothing: none that is known

  int count(Verdict verdict) const;
  std::vector<Finding> findings() const;
};

/// Runs every rule. The last entry is an unknown mistake when no rule finds an error although a
/// recorded verdict reports one. Reads only the trace.
Diagnosis diagnose(const Trace& trace);

/// Returns the answer of a rule that found nothing, as a sentence without its full stop: what
/// holds, or that the recording cannot tell.
std::string headline(const Diagnosis::Entry& entry);

/// Returns a line about the findings. It says "Nothing found" only if every rule that applies could
/// judge and every recorded part could be read; otherwise it names the limit.
std::string headline(const Diagnosis& diagnosis);
/// Reports whether nothing was found, nothing failed, and everything could be read.
bool isWithoutFinding(const Diagnosis& diagnosis);
/// Reports the same of a run about which every rule that applies could judge.
bool isClear(const Diagnosis& diagnosis);

/// Returns the change in the framework and the reports of a mistake of the catalogue; empty for
/// another rule.
Fix fixFor(const std::string& rule, std::optional<Framework> framework);

/// Returns what a confidence means, as a clause.
const char* explain(Confidence confidence);
nlohmann::json toJson(const Finding& finding);
nlohmann::json toJson(const Diagnosis& diagnosis);
/// The report for people: findings with evidence and remedy, then what was clear and what not seen.
std::string toText(const Diagnosis& diagnosis);

}  // namespace ringscope::traces
