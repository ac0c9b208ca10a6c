// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "tests/facts/rule_facts.h"

namespace ringscope::facts {

/// A finding, where it says that it is, and the words and numbers of its sentence.
class FindingFacts {
 public:
  FindingFacts(const Case& c, const traces::Finding& finding)
      : c_(c),
        f_(finding),
        step_(finding.place.train_step),
        group_(finding.rank.exists() ? finding.rank.value() / c.cp : 0),
        rank_(finding.rank.exists() ? finding.rank.value() % c.cp : 0),
        oracle_(c.oracle(step_, group_)),
        evidence_(withoutProof(finding.evidence)) {}

 protected:
  bool says(const std::string& pattern) const {
    return std::regex_match(evidence_, words_, std::regex(pattern));
  }
  /// "1,204" in the pattern's parentheses of this number.
  std::int64_t number(std::size_t group) const {
    std::string digits = words_[group];
    std::erase(digits, ',');
    return std::stoll(digits);
  }
  double real(std::size_t group) const { return std::stod(words_[group]); }
  int world(int rank) const { return c_.worldRankFor(group_, rank); }

  const Case& c_;
  const traces::Finding& f_;
  int step_, group_, rank_;  ///< rank_: of the cp group
  const PlanOracle& oracle_;
  std::string evidence_;  ///< without what computing it again says
  mutable std::smatch words_;
};

/// An entry of a table.
template <typename Facts, void (Facts::*Expect)() const>
void compared(const Case& c, const traces::Finding& finding) {
  (Facts(c, finding).*Expect)();
}

}  // namespace ringscope::facts
