// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "viz/scene/data.h"

namespace ringscope::viz {

/// kRingStep: every rank stands at the same ring step. kTime: one instant, at which ranks may stand
/// at different ring steps.
enum class Axis { kRingStep, kTime };

/// Takes the place of a verdict in a quiz round.
inline constexpr const char* kSealedWords = "not judged in a quiz round";

/// The place at which the user looks at a recording. A scene is a function of the cursor and the
/// data.
struct Cursor {
  int group = 0;                      ///< whose ranks are viewed: an index into listGroups(trace)
  Place place;                        ///< one of the trace's moments; anything while it has none
  double phase = 0;                   ///< how far into the ring step, 0 to 1
  WorldRank rank = WorldRank::of(0);  ///< the selected one of the group's ranks
  TokenIndex token;            ///< the selected token of the rank; none: no token is selected
  std::string tensor = "out";  ///< the one that Diff and Tensor show
  Axis axis = Axis::kRingStep;
  bool sealed = false;  ///< a quiz round: scenes show facts and judge nothing

  friend bool operator==(const Cursor&, const Cursor&) = default;
};

}  // namespace ringscope::viz
