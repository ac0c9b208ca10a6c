// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/positions/positions_scene.h"

#include <algorithm>

#include "traces/format/trace/trace.h"

namespace ringscope::viz {

PositionsScene makePositionsScene(const traces::Trace& trace, const Cursor& cursor,
                                  std::shared_ptr<const PositionStrip> strip) {
  PositionsScene scene{{}, std::move(strip), makeTokenTable(trace, cursor)};
  const auto& cells = scene.table.cells;
  const auto at = std::ranges::find(cells, cursor.token, &TokenCell::global);
  if (cursor.token.exists() && at != cells.end())
    scene.selected = static_cast<int>(at - cells.begin());
  if (trace.moments().empty())
    scene.note = "No training step is recorded yet.";
  else if (!scene.table.missing.empty())
    scene.note = "Not recorded; " + scene.table.missing + ".";
  return scene;
}

std::string describe(const PositionsScene& scene) {
  if (!scene.note.empty()) return scene.note;
  std::string words = "Rank " + toString(scene.table.rank) + ", step " +
                      std::to_string(scene.table.train_step) +
                      ". Position ids per rank: " + scene.strip->verdict() + ".";
  for (const BufferLane& lane : scene.table.buffers) {
    const std::string values = describeValues(lane);
    words +=
        " " + lane.name + ": " + describeCut(lane) + (values.empty() ? "" : ", " + values) + ".";
  }
  return words;
}

}  // namespace ringscope::viz
