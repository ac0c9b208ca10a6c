// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "viz/scene/compared_map.h"
#include "viz/scene/position_rows.h"
#include "viz/views/compare/place_rows_scene.h"
#include "viz/views/compare/run_card.h"

namespace ringscope::viz {

/// A result or a cost of a training step in both recordings.
struct CostRow {
  std::string name, a, b;
  std::string ratio;  ///< A ÷ B; empty where it says nothing

  friend bool operator==(const CostRow&, const CostRow&) = default;
};

/// Two recordings side by side, at a training step.
struct CompareScene {
  RunCard a, b;
  std::int32_t train_step = 0;
  std::vector<std::string> conclusion;   ///< sentences; the first is the verdict
  Agreement verdict = Agreement::kSame;  ///< of all tensors together
  bool lacks_floor = false;              ///< a second recording of B's run would judge what differs
  std::vector<std::string> settings;     ///< that differ, or one line: none does
  std::vector<CostRow> costs;
  std::vector<std::string> doctor;  ///< what it says of B by itself: a finding a line, else one
  bool doctor_finds = false;
  std::vector<HeldRun> positions_a,
      positions_b;  ///< in global order, marked where B differs; empty where nothing does
  ComparedMap map;  ///< of the chosen tensor; without a title: of none
  std::vector<PlaceRow> places;
  std::string no_places;  ///< why there is none of this step
  std::vector<std::string> left_out, remarks;

  friend bool operator==(const CompareScene&, const CompareScene&) = default;
};

/// All but the map, which is read later. `before`: the second is what a what-if began from;
/// `turned`: places that somebody has opened or closed, by name.
CompareScene makeCompareScene(const ComparedRuns& runs, bool before, std::int32_t train_step,
                              const std::set<std::string>& turned);

/// For who does not see: the verdict.
std::string describe(const CompareScene& scene);

}  // namespace ringscope::viz
