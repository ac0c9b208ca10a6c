// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/doctor/finding_card_scene.h"

#include <algorithm>

#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/doctor/hang_finding.h"
#include "traces/analysis/mistakes/catalogue.h"

namespace ringscope::viz {
namespace {

int order(traces::Verdict verdict) {
  return verdict == traces::Verdict::kFound           ? 0
         : verdict == traces::Verdict::kNotObservable ? 1
                                                      : 2;
}

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
  // The catalogue names the view of each mistake. A hang is seen in the timeline, an unnamed
  // difference in the diff.
  card.view = mistake ? mistake->view : finding.rule == traces::kHang ? "timeline" : "diff";
  card.place = finding.place;
  if (card.place.layer.isNone()) card.place.layer = Layer::of(0);
  if (card.place.stage.isNone()) card.place.stage = RingStep::of(0);
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

}  // namespace

std::vector<FindingCard> findingCards(const traces::Diagnosis& diagnosis) {
  std::vector<FindingCard> cards;
  for (const auto& entry : diagnosis.entries) {
    const auto* mistake = traces::findMistake(entry.rule);
    for (const auto& finding : entry.result.findings)
      cards.push_back(cardOf(mistake, finding, diagnosis.framework));
    if (entry.result.verdict == traces::Verdict::kNotObservable)
      cards.push_back(cardOf(
          entry, std::string(entry.result.capture_helps ? "Not recorded. This "
                                                        : "What was recorded cannot tell. This ") +
                     entry.result.would_settle + "."));
    if (entry.result.verdict == traces::Verdict::kClear)
      cards.push_back(cardOf(
          entry, "Looked for and not found: " + (mistake ? mistake->look_for : entry.rule) + "."));
  }
  std::ranges::stable_sort(cards, [](const FindingCard& a, const FindingCard& b) {
    return order(a.verdict) < order(b.verdict);
  });
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
