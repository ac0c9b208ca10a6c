// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/clock/planned_program.h"
#include "traces/clock/timeline.h"

namespace ringscope::traces {

/// What the model says of one schedule on one hardware. Times in nanoseconds, of one training step;
/// communication is the mean of the ranks.
struct Prediction {
  RunSpec run;
  double step_ns = 0;
  CommunicationSum attention;                    ///< KV, dKV and heads
  CommunicationSum other;                        ///< gradients, activations, scalars
  CommunicationSum forward_hops, backward_hops;  ///< of `attention`
  CommunicationSum last_hop_home;  ///< of backward: the last dKV hop, which nothing can hide
  /// Of the step: the share in which a rank stands still for messages of attention.
  double exposedShare() const;
};

Prediction predict(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device,
                   const Hardware& hardware);

/// The same run with each strategy that its mask, heads and length allow: ring (p2p), ring with
/// rotate allgather, all_gather, ulysses, hybrid. In that order.
std::vector<Prediction> predictStrategies(const RunSpec& run, const ModelSizes& sizes,
                                          const DeviceSpeed& device, const Hardware& hardware);

/// Lengths from `from` to `to`, doubling, each rounded up to what the balance needs, by strategy.
struct LengthSweep {
  std::vector<std::int64_t> lengths;
  struct Row {
    std::string strategy;  ///< "ring", "ring, allgather", "all_gather", "ulysses", "hybrid"
    std::vector<std::optional<Prediction>> at;  ///< by length; nothing where it cannot run
  };
  std::vector<Row> rows;
  /// The shortest length at which every forward KV hop of the ring is hidden (99 % of its time
  /// under work), found between the lengths by halving; nothing when none is in range.
  std::optional<std::int64_t> ring_hides_forward_at;
  /// The same of backward, the last dKV hop home left out.
  std::optional<std::int64_t> ring_hides_backward_at;
};
LengthSweep sweepLengths(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device,
                         const Hardware& hardware, std::int64_t from, std::int64_t to);

/// "model, not a measurement": goes with every figure of this folder.
inline constexpr const char* kModelLabel = "model, not a measurement";

}  // namespace ringscope::traces
