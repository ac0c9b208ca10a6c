// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "traces/analysis/clock/planned_program.h"
#include "traces/analysis/clock/timeline.h"

namespace ringscope::test {

/// A case with simple numbers: full attention over 16 tokens per rank, 16 heads of 2 in fp32, one
/// layer. A block takes 1,000 ns forward and 2,000 ns backward, a hop of KV or dKV has 4,096 bytes,
/// and nothing else takes time.
struct ClockCase {
  traces::RunSpec run;
  traces::ModelSizes sizes;
  traces::DeviceSpeed device;
  traces::Hardware hardware;
};

/// Returns a case whose link moves a hop in 2,000 ns after 500 ns of latency.
inline ClockCase clockCase(int cp, traces::Strategy strategy = traces::Strategy::kRing) {
  constexpr double kNoTime = std::numeric_limits<double>::infinity();
  ClockCase c;
  c.run.cp = cp;
  c.run.strategy = strategy;
  c.run.mask = traces::MaskKind::kFull;
  c.run.seq_len = 16 * cp;
  c.sizes = {"case", 1, 32, 16, 16, 2, 8, 8, false};
  // 4 · 2 · 16 operations per pair, 16 · 16 pairs per block.
  c.device = {"case", kNoTime, 32768e9 / 1000, 2.5 * 32768e9 / 2000, kNoTime};
  c.hardware.link = {"case", 4096.0 / 2000, 0.5, true, true};
  return c;
}

inline traces::ModelTimeline replayed(const ClockCase& c) {
  return traces::replay(traces::plannedProgram(c.run, c.sizes, c.device), c.hardware);
}

/// Sums the communication of one rank in one direction of the layer.
inline traces::CommunicationSum ofLayer(const traces::ModelTimeline& timeline, int rank,
                                        traces::Direction direction) {
  traces::CommunicationSum sum;
  for (const traces::WaitCost& cost : timeline.waits)
    if (cost.rank == traces::WorldRank::of(rank) && cost.place.layer == traces::Layer::of(0) &&
        cost.place.direction == direction)
      sum.add(cost);
  return sum;
}

}  // namespace ringscope::test
