// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "viz/scene/position_rows.h"
#include "viz/views/positions/token_table_scene.h"

namespace ringscope::viz {

/// The buffers of the selected rank token by token, under the position ids of its whole group.
struct PositionsScene {
  std::string note;                            ///< why nothing is shown; empty when something is
  std::shared_ptr<const PositionStrip> strip;  ///< never null
  TokenTable table;
  int selected = -1;  ///< index of the selected token in the table; -1: it has none
};

/// All of it in words: "Rank 1, step 0. Position ids per rank: ✓ all 128 as they should be. …".
std::string describe(const PositionsScene& scene);

/// `strip`: of the cursor's training step and group.
PositionsScene makePositionsScene(const traces::Trace& trace, const Cursor& cursor,
                                  std::shared_ptr<const PositionStrip> strip);

}  // namespace ringscope::viz
