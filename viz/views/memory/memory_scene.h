// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "viz/scene/cursor.h"
#include "viz/views/memory/memory_law_scene.h"

namespace ringscope::viz {

/// The memory of the selected rank over the run, its peak with the cause, and the memory per rank
/// that more ranks would need.
struct MemoryScene {
  std::string note;  ///< why nothing is shown; empty when something is
  WorldRank rank = WorldRank::of(0);
  std::int64_t end_ns = 0;  ///< of the recording; series spans 0 to it, without its pauses
  MemoryPeak peak;
  MemorySeries series;
  MemoryLaw law;
  std::string unseen;  ///< of an imported recording: what is not told apart; empty: nothing

  friend bool operator==(const MemoryScene&, const MemoryScene&) = default;
};

/// `pauses`: stretches of the run that the chart leaves out.
MemoryScene makeMemoryScene(const traces::Trace& trace, const Cursor& cursor,
                            TimeFolds pauses = {});

}  // namespace ringscope::viz
