// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "traces/analysis/doctor/diagnosis.h"

namespace ringscope::traces {

/// The numbers of rules that were asked about a run. A rule about a mistake that cannot be made in
/// it was neither made nor not made.
struct Checks {
  int made = 0;      ///< found something, or are clear
  int clear = 0;     ///< the clear ones of these
  int not_made = 0;  ///< the recording lacks something
  int not_applying = 0;
};
Checks countChecks(const Diagnosis& diagnosis);
/// Returns a line: "30 rules clear, 2 not observable, 1 does not apply to this run".
std::string describe(const Checks& checks);

/// Reports whether a rule applies to the run and could not judge it.
bool isNotMade(const Diagnosis::Entry& entry);

/// The rules that one remedy would let judge, alone or with others.
struct Advice {
  std::optional<Remedy> remedy;  ///< none: no remedy is known
  /// The rules that lack this first, those that lack nothing else before the others.
  std::vector<const Diagnosis::Entry*> checks;
  int alone = 0;  ///< the number of checks that lack nothing else
};

/// Returns what to add so that more rules can judge, the remedy that alone gains the most first.
/// Each rule that could not judge is in one of them. Points into the diagnosis.
std::vector<Advice> adviceFrom(const Diagnosis& diagnosis);
/// Returns a line: "`ringscope.log(loss=loss)` after the reduction: 4 more checks".
std::string describe(const Advice& advice);
/// Returns what a rule lacks, and the remedies after the first.
std::string describeLack(const Diagnosis::Entry& entry);
/// Returns all remedies of a rule: "`ringscope.log(loss=loss)` after the reduction and …". Empty
/// when none is known.
std::string describeRemedies(const Diagnosis::Entry& entry);

/// Returns the rules of these that could not judge and can apply; of all rules if none is named.
std::vector<std::string> notMade(const Diagnosis& diagnosis, const std::vector<std::string>& rules);

}  // namespace ringscope::traces
