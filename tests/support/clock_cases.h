// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "traces/analysis/clock/planned_program.h"
#include "traces/analysis/clock/timeline.h"

namespace ringscope::test {

/// Numbers that are easy to compute with. Full attention over 16 tokens a rank, 16 heads of 2 in
/// fp32, one layer: a block takes 1,000 ns forward and 2,000 ns backward with cp ranks as KV
/// shards, nothing else takes time, and a hop of KV or dKV is 4,096 bytes.
struct ClockCase {
  traces::RunSpec run;
  traces::ModelSizes sizes;
  traces::DeviceSpeed device;
  traces::Hardware hardware;
};

/// The link moves a hop in 2,000 ns and has 500 ns of latency.
inline ClockCase clockCase(int cp, traces::Strategy strategy = traces::Strategy::kRing) {
  constexpr double kNoTime = std::numeric_limits<double>::infinity();
  ClockCase c;
  c.run.cp = cp;
  c.run.strategy = strategy;
  c.run.mask = traces::MaskKind::kFull;
  c.run.seq_len = 16 * cp;
  c.sizes = {"case", 1, 32, 16, 16, 2, 8, 8, false};
  // 4 · 2 · 16 operations a pair, 16 · 16 pairs a block.
  c.device = {"case", kNoTime, 32768e9 / 1000, 2.5 * 32768e9 / 2000, kNoTime};
  c.hardware.link = {"case", 4096.0 / 2000, 0.5, true, true};
  return c;
}

inline traces::ModelTimeline replayed(const ClockCase& c) {
  return traces::replay(traces::plannedProgram(c.run, c.sizes, c.device), c.hardware);
}

/// Of the layer, in one direction, of one rank.
inline traces::CommunicationSum ofLayer(const traces::ModelTimeline& timeline, int rank,
                                        traces::Direction direction) {
  traces::CommunicationFilter filter;
  filter.rank = traces::WorldRank::of(rank);
  filter.layer = traces::Layer::of(0);
  filter.direction = direction;
  return timeline.sum(filter);
}

}  // namespace ringscope::test
