// SPDX-License-Identifier: Apache-2.0
#include "engine/rank/rank_context.h"

#include "engine/gpu/gpu.h"
#include "engine/progress/progress_board.h"

namespace ringscope::engine {

void RankContext::finishDeviceWork() const {
  if (device.is_cuda()) gpu::synchronize();
}

void RankContext::arriveAt(const traces::Place& next, const std::function<bool()>& hold) {
  place = next;
  reportPlace(next);
  if (at_gate) (*at_gate)(worldRank(), next);
  const std::int64_t begin = observer.now();
  {
    const PauseReport paused;
    if (!gate.arrive(gate_rank, next, hold)) return;
  }
  traces::Event pause;
  pause.kind = traces::EventKind::kPause;
  pause.begin_ns = pause.start_ns = begin;
  pause.end_ns = observer.now();
  pause.place = next;
  pause.rank = observer.rank();
  observer.event(pause);
}

}  // namespace ringscope::engine
