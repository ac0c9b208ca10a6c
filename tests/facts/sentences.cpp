// SPDX-License-Identifier: Apache-2.0
// Which comparison a finding's sentences go to.
#include "tests/facts/rule_facts.h"

namespace ringscope::facts {
namespace {

/// The rule's entry in some table; none: null.
Sentences::mapped_type toSentence(const std::string& rule) {
  for (const auto* table :
       {&tokenSentences(), &layoutSentences(), &pairSentences(), &blockSentences(),
        &attentionSentences(), &computedSentences(), &gradientSentences()})
    if (const auto known = table->find(rule); known != table->end()) return known->second;
  return nullptr;
}

}  // namespace

bool isSentenceKnown(const std::string& rule) {
  return toSentence(rule) != nullptr;
}

void expectEvidence(const Case& c, const traces::Finding& finding) {
  SCOPED_TRACE(finding.evidence);
  ASSERT_LT(finding.place.train_step, c.steps);
  ASSERT_LT(finding.rank.value(), c.groups() * c.cp);
  expectProof(c, finding);
  const auto expect = toSentence(finding.rule);
  ASSERT_TRUE(expect) << "no sentence of " << finding.rule << " is known";
  expect(c, finding);
}

}  // namespace ringscope::facts
