// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/doctor/verdict.h"
#include "viz/scene/cursor.h"
#include "viz/scene/data.h"

namespace ringscope::viz {

/// One thing that the doctor says.
struct FindingCard {
  traces::Verdict verdict = traces::Verdict::kClear;
  std::string title, evidence, remedy;
  std::string view;                   ///< where it can be seen; empty: nowhere in particular
  Place place;                        ///< where it leads: a ring step
  std::optional<WorldRank> rank;      ///< nothing: no one in particular
  std::optional<std::string> tensor;  ///< nothing: none in particular

  friend bool operator==(const FindingCard&, const FindingCard&) = default;
};

/// What the doctor found, could not see and cleared.
struct DoctorScene {
  std::string note;      ///< why nothing is shown; empty when something is
  std::string headline;  ///< "▲ 2 findings"
  int found = 0;
  bool clear = false;  ///< nothing was found, and nothing stood in the way of finding it
  std::vector<FindingCard> cards;  ///< findings first, then what could not be seen, then the clear

  friend bool operator==(const DoctorScene&, const DoctorScene&) = default;
};

/// `live`: the run still goes on.
DoctorScene makeDoctorScene(const std::optional<traces::Diagnosis>& diagnosis, bool live);

}  // namespace ringscope::viz
