// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/quiz/quiz_hints.h"

#include <algorithm>

#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/core/error.h"

namespace ringscope::viz {
namespace {

const char* firstPart(traces::FirstChanged part) {
  switch (part) {
    case traces::FirstChanged::kAnything:
      return "The forward pass differs already.";
    case traces::FirstChanged::kLoss:
      return "The forward pass is as it should be. The loss is the first number that differs.";
    case traces::FirstChanged::kGradients:
      return "Forward pass and loss are as they should be. The gradients differ.";
  }
  return "";
}

bool hasPart(const std::optional<int>& named, const auto& id) {
  return !named || (id.exists() && id.value() == *named);
}

}  // namespace

std::string NamedPlace::describe() const {
  std::string words;
  const auto add = [&](const char* part, const std::optional<int>& number) {
    if (number) words += (words.empty() ? "" : " · ") + (part + std::to_string(*number));
  };
  add("rank ", rank);
  add("step ", train_step);
  add("layer ", layer);
  return words;
}

std::vector<std::string> quizHints(const std::string& mistake) {
  const traces::Mistake* known = traces::findMistake(mistake);
  if (!known) throw usageError("there is no mistake '" + mistake + "'");
  return {firstPart(known->first_changed), "The view that shows it best is " + known->view + ".",
          "Its subject is: " + known->subject + "."};
}

std::optional<bool> isPlaceRight(const NamedPlace& place, const std::string& mistake,
                                 const traces::Diagnosis& diagnosis) {
  bool has_evidence = false;
  for (const traces::Finding& finding : diagnosis.findings()) {
    if (finding.rule != mistake) continue;
    has_evidence = true;
    const bool has_step = !place.train_step || finding.place.train_step == *place.train_step;
    if (!place.isEmpty() && has_step && hasPart(place.rank, finding.rank) &&
        hasPart(place.layer, finding.place.layer))
      return true;
  }
  return place.isEmpty() || !has_evidence ? std::nullopt : std::optional(false);
}

}  // namespace ringscope::viz
