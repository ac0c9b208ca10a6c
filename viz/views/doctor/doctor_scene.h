// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viz/views/doctor/finding_card_scene.h"

namespace ringscope::viz {

/// The mistakes that the doctor found, could not see and cleared.
struct DoctorScene {
  std::string note;      ///< why nothing is shown; empty when something is
  std::string headline;  ///< "▲ 2 findings"
  int found = 0;
  std::string reach;   ///< of which training steps rules that are clear do not speak
  bool clear = false;  ///< nothing was found, and nothing stood in the way of finding it
  std::vector<FindingCard> cards;  ///< in the order of findingCards()

  friend bool operator==(const DoctorScene&, const DoctorScene&) = default;
};

/// `live`: the run still goes on.
DoctorScene makeDoctorScene(const std::optional<traces::Diagnosis>& diagnosis, bool live);

}  // namespace ringscope::viz
