// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/doctor/verdict.h"
#include "traces/analysis/mistakes/explanation.h"
#include "viz/scene/cursor.h"
#include "viz/scene/data.h"

namespace ringscope::traces {
struct Diagnosis;
}

namespace ringscope::viz {

/// One thing that the doctor says.
struct FindingCard {
  traces::Verdict verdict = traces::Verdict::kClear;
  bool advice = false;  ///< names what to add so that several rules can judge
  bool applies = true;  ///< the mistake can be made in the run
  std::string title, evidence;
  std::string remedy;                 ///< what to change, or what to add
  std::string view;                   ///< where it can be seen; empty: nowhere in particular
  Place place;                        ///< where it leads: a ring step
  std::optional<WorldRank> rank;      ///< nothing: no one in particular
  std::optional<std::string> tensor;  ///< nothing: none in particular
  std::optional<traces::Explanation> explanation;  ///< of what was found; nothing: there is none

  friend bool operator==(const FindingCard&, const FindingCard&) = default;
};

/// Returns the cards of a diagnosis: findings, what to add, clear rules, and rules that do not
/// apply. Each remedy is followed by the rules that need it. The explanation of a
/// finding begins with the change to make in the recorded framework.
std::vector<FindingCard> findingCards(const traces::Diagnosis& diagnosis);

/// The cursor at the card's place; what it leaves open stays as it is.
Cursor cursorAt(const FindingCard& card, Cursor cursor);

}  // namespace ringscope::viz
