// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/doctor/finding_card_scene.h"

#include "traces/analysis/doctor/checks.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/report/finding_place.h"

namespace ringscope::viz {
namespace {

/// With what to change in the framework of the recording before the others.
traces::Explanation explanationOf(const traces::Mistake& mistake,
                                  std::optional<traces::Framework> framework) {
  const traces::Explanation all = traces::readExplanation(mistake.id);
  return framework ? all.beginningWith(*framework) : all;
}

FindingCard cardOf(const traces::Mistake* mistake, const traces::Finding& finding,
                   std::optional<traces::Framework> framework) {
  FindingCard card;
  card.verdict = traces::Verdict::kFound;
  card.title = finding.title;
  card.evidence = finding.evidence;
  card.remedy = finding.remedy;
  card.view = traces::viewFor(finding);
  card.place = traces::placeFor(finding);
  if (finding.rank.exists()) card.rank = finding.rank;
  if (!finding.buffer.empty()) card.tensor = finding.buffer;
  if (mistake) card.explanation = explanationOf(*mistake, framework);
  return card;
}

FindingCard cardOf(const traces::Diagnosis::Entry& entry, std::string evidence) {
  FindingCard card;
  card.verdict = entry.result.verdict;
  card.title = traces::headline(entry);
  card.evidence = std::move(evidence);
  return card;
}

FindingCard openCard(const traces::Diagnosis::Entry& entry) {
  FindingCard card = cardOf(
      entry, std::string(entry.result.capture_helps ? "Not recorded. This "
                                                    : "What was recorded cannot tell. This ") +
                 entry.result.would_settle + ".");
  card.remedy = traces::describeRemedies(entry);
  return card;
}

FindingCard adviceCard(const traces::Advice& advice) {
  FindingCard card;
  card.verdict = traces::Verdict::kNotObservable;
  card.advice = true;
  card.title = traces::describe(advice);
  for (const auto* entry : advice.checks)
    card.evidence += (card.evidence.empty() ? "" : ", ") + entry->rule;
  return card;
}

/// Adds what cannot be judged, by what would let it.
void addOpenCards(const traces::Diagnosis& diagnosis, std::vector<FindingCard>& cards) {
  for (const traces::Advice& advice : traces::adviceFrom(diagnosis)) {
    if (advice.remedy) cards.push_back(adviceCard(advice));
    for (const auto* entry : advice.checks) cards.push_back(openCard(*entry));
  }
}

/// Adds what nobody needs to look at: the clear rules, or those that do not apply.
void addQuietCards(const traces::Diagnosis& diagnosis, bool apply,
                   std::vector<FindingCard>& cards) {
  for (const auto& entry : diagnosis.entries) {
    if (entry.applies() != apply || (apply && entry.result.verdict != traces::Verdict::kClear))
      continue;
    const auto* mistake = traces::findMistake(entry.rule);
    FindingCard card = cardOf(
        entry, apply
                   ? "Looked for and not found: " + (mistake ? mistake->look_for : entry.rule) + "."
                   : "Does not apply: " + entry.does_not_apply + ".");
    card.applies = apply;
    if (!apply && mistake) card.title = mistake->label;
    cards.push_back(std::move(card));
  }
}

}  // namespace

std::vector<FindingCard> findingCards(const traces::Diagnosis& diagnosis) {
  std::vector<FindingCard> cards;
  for (const auto& entry : diagnosis.entries)
    for (const auto& finding : entry.result.findings)
      cards.push_back(cardOf(traces::findMistake(entry.rule), finding, diagnosis.framework));
  addOpenCards(diagnosis, cards);
  addQuietCards(diagnosis, true, cards);
  addQuietCards(diagnosis, false, cards);
  return cards;
}

Cursor cursorAt(const FindingCard& card, Cursor cursor) {
  cursor.place = card.place;
  cursor.phase = 0;
  if (card.rank) cursor.rank = *card.rank;
  if (card.tensor) cursor.tensor = *card.tensor;
  return cursor;
}

}  // namespace ringscope::viz
