// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/memory/memory_scene.h"

#include <utility>

#include "traces/format/core/utf8.h"
#include "traces/format/schema/declared.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/groups.h"

namespace ringscope::viz {

MemoryScene makeMemoryScene(const traces::Trace& trace, const Cursor& cursor, TimeFolds pauses) {
  constexpr std::size_t kColumns = 300;
  MemoryScene scene;
  scene.rank = cursor.rank;
  scene.end_ns = trace.endNs();
  const auto ranks = groupRanks(trace, cursor.group);
  if (!ranks.empty()) scene.peak = memoryPeak(trace, cursor.rank);
  if (scene.peak.bytes == 0) {
    scene.note = "No memory is recorded; " + traces::memoryAdvice(trace) + ".";
    return scene;
  }
  scene.series = memorySeries(trace, cursor.rank, kColumns, std::move(pauses));
  scene.law = memoryLaw(scene.peak, static_cast<int>(ranks.size()));
  const auto& unseen = trace.note(traces::kUnseenMemoryNote + toString(cursor.rank));
  if (unseen.is_string()) scene.unseen = traces::toPlainText(unseen.get<std::string>(), 200);
  return scene;
}

}  // namespace ringscope::viz
