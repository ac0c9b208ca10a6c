// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/clock/planned_program.h"
#include "traces/analysis/clock/step_limits.h"
#include "traces/analysis/clock/timeline.h"

namespace ringscope::traces {

/// "model, not a measurement": goes with every figure of this folder.
inline constexpr const char* kModelLabel = "model, not a measurement";

/// What the model says of communication: sums of all ranks.
struct CommunicationFigures {
  CommunicationSum attention;          ///< KV, dKV and heads
  CommunicationSum forward, backward;  ///< of `attention`
  CommunicationSum forward_kv;         ///< hops of KV, of `forward`
  CommunicationSum last_hop_home;      ///< of `backward`: waits for dKV that nothing is done under
  CommunicationSum other;              ///< gradients, activations, scalars
};
CommunicationFigures communicationOf(const Program& program, const ModelTimeline& timeline);

/// What the model says of one schedule on one hardware.
struct Prediction {
  RunSpec run;
  std::string title;   ///< "ring", "ring, allgather", "all_gather", "ulysses", "hybrid 2 × 4"
  int ranks = 1;       ///< whose communication is summed: one cp group
  double step_ns = 0;  ///< of one training step
  CommunicationFigures communication;
  StepLimits limits;
  /// Of the step: the share in which a rank stands still for messages of attention, mean of ranks.
  double exposedShare() const;
};

/// As plannedProgram() plans it.
Prediction predict(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device,
                   const Hardware& hardware);

/// The same run with each strategy that its mask, heads and length allow, those with ring hops with
/// rotate allgather too. In the order of their names; the first alone for one rank.
std::vector<Prediction> predictStrategies(const RunSpec& run, const ModelSizes& sizes,
                                          const DeviceSpeed& device, const Hardware& hardware);

/// The strategies with the shortest step, as far as the model can tell.
struct Quickest {
  /// Indices of the shortest step and of those that cannot be told from it: they are longer by less
  /// than the uncertainty, or are printed alike. The shortest first.
  std::vector<std::size_t> tied;
  double spread = 0;                ///< the longest of them ÷ the shortest, minus 1
  std::optional<std::size_t> next;  ///< the shortest of the others; nothing: there is none
  double ahead = 0;                 ///< its step ÷ the shortest, minus 1
};
/// `uncertainty`: the share by which steps must differ. Nothing is tied without predictions.
Quickest quickestStrategies(const std::vector<Prediction>& all, double uncertainty);

/// Whether 99 % of the time of forward KV hops is hidden, by a plain ring among these strategies.
bool ringHidesForward(const std::vector<Prediction>& strategies);

/// Lengths from `from` to `to`, doubling, each rounded up to what the balance needs.
struct LengthSweep {
  std::vector<std::int64_t> lengths;
  std::vector<std::vector<Prediction>> at;  ///< by length: every strategy that can run
  /// The shortest length from which on, up to `to`, 99 % of the time of the ring's forward KV hops
  /// is hidden: found by halving between the lengths above. Nothing when it is not so at `to`, as
  /// with a window that a long sequence outgrows, or with fewer than two ranks.
  std::optional<std::int64_t> ring_hides_forward_at;
  /// A ring's forward KV hops take time at one of the lengths; false: there is nothing to hide.
  bool ring_has_hops = false;
};
LengthSweep sweepLengths(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device,
                         const Hardware& hardware, std::int64_t from, std::int64_t to);

}  // namespace ringscope::traces
