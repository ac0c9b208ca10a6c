// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/doctor_scene.h"

#include <algorithm>

#include "traces/doctor/diagnosis.h"
#include "traces/mistakes/catalogue.h"

namespace ringscope::viz {
namespace {

int order(traces::Verdict verdict) {
  return verdict == traces::Verdict::kFound           ? 0
         : verdict == traces::Verdict::kNotObservable ? 1
                                                      : 2;
}

FindingCard cardOf(const traces::Mistake* mistake, const traces::Finding& finding) {
  FindingCard card;
  card.verdict = traces::Verdict::kFound;
  card.title = finding.title;
  card.evidence = finding.evidence;
  card.remedy = finding.remedy;
  // What no catalogue knows is known from its verdict alone.
  card.view = mistake ? mistake->view : "diff";
  card.place = finding.place;
  if (card.place.layer.isNone()) card.place.layer = Layer::of(0);
  if (card.place.stage.isNone()) card.place.stage = RingStep::of(0);
  if (finding.rank.exists()) card.rank = finding.rank;
  if (!finding.buffer.empty()) card.tensor = finding.buffer;
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

DoctorScene makeDoctorScene(const std::optional<traces::Diagnosis>& diagnosis, bool live) {
  DoctorScene scene;
  if (diagnosis && !diagnosis->problem.empty()) {
    scene.note = "The doctor could not read the recording: " + diagnosis->problem;
    return scene;
  }
  if (!diagnosis) {
    scene.note = live ? "The doctor looks at the whole run: it speaks when the run has ended. Stop "
                        "it, or let it finish."
                      : "Nothing has been looked at yet. Open a recording, or run one.";
    return scene;
  }
  for (const auto& entry : diagnosis->entries) {
    const auto* mistake = traces::findMistake(entry.rule);
    for (const auto& finding : entry.result.findings)
      scene.cards.push_back(cardOf(mistake, finding));
    if (entry.result.verdict == traces::Verdict::kNotObservable)
      scene.cards.push_back(cardOf(
          entry, std::string(entry.result.capture_helps ? "Not recorded. This "
                                                        : "What was recorded cannot tell. This ") +
                     entry.result.would_settle + "."));
    if (entry.result.verdict == traces::Verdict::kClear)
      scene.cards.push_back(cardOf(
          entry, "Looked for and not found: " + (mistake ? mistake->look_for : entry.rule) + "."));
  }
  std::ranges::stable_sort(scene.cards, [](const FindingCard& a, const FindingCard& b) {
    return order(a.verdict) < order(b.verdict);
  });
  scene.found = diagnosis->count(traces::Verdict::kFound);
  scene.clear = traces::isClear(*diagnosis);
  scene.headline = traces::headline(*diagnosis);
  return scene;
}

}  // namespace ringscope::viz
