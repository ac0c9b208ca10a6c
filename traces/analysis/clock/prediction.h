// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/clock/planned_program.h"
#include "traces/analysis/clock/step_limits.h"
#include "traces/analysis/clock/timeline.h"

namespace ringscope::traces {

/// The label of every figure of the model.
inline constexpr const char* kModelLabel = "model, not a measurement";

/// The communication of all ranks by the model.
struct CommunicationFigures {
  CommunicationSum attention;          ///< KV, dKV and heads
  CommunicationSum forward, backward;  ///< parts of `attention`
  CommunicationSum forward_kv;         ///< hops of KV, part of `forward`
  CommunicationSum last_hop_home;  ///< part of `backward`: waits for dKV under which no work runs
  CommunicationSum other;          ///< gradients, activations, scalars
  CommunicationFigures& operator+=(const CommunicationFigures& more);
};
CommunicationFigures sumCommunication(const Program& program, const ModelTimeline& timeline);

/// The model's answer for one schedule on one kind of hardware.
struct Prediction {
  RunSpec run;
  std::string title;   ///< of its strategy, see strategyTitle()
  int ranks = 1;       ///< the cp group whose communication is summed
  double step_ns = 0;  ///< of one training step
  CommunicationFigures communication;
  StepLimits limits;
  /// Returns the share of the step during which a rank waits for messages of attention, mean of the
  /// ranks.
  double exposedShare() const;
  /// The relative standard deviation of step_ns, if all stages deviate alike. It is the mean of the
  /// spreads of their fitted costs, weighted by their time. nullopt: no costs were fitted, or the
  /// spread of one is unknown.
  std::optional<double> spread{};
};

/// Replays the program that plannedProgram() plans.
Prediction predict(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device,
                   const Hardware& hardware);

/// Predicts those of strategyChoices() that the mask, heads and length allow.
std::vector<Prediction> predictStrategies(const RunSpec& run, const ModelSizes& sizes,
                                          const DeviceSpeed& device, const Hardware& hardware);

/// The share by which two steps differ that are printed with two digits, as in "5.2 s".
inline constexpr double kPrintedPrecision = 0.05;

/// The strategies with the shortest step, as far as the model can tell.
struct Quickest {
  /// Indices of the shortest step, and of steps that are longer by less than the uncertainty or are
  /// printed alike. The shortest comes first.
  std::vector<std::size_t> tied;
  double spread = 0;                ///< the longest tied step ÷ the shortest, minus 1
  std::optional<std::size_t> next;  ///< the shortest step that is not tied
  double ahead = 0;                 ///< the next step ÷ the shortest, minus 1
};
/// `uncertainty`: the share by which two steps must differ to be told apart.
Quickest quickestStrategies(const std::vector<Prediction>& all, double uncertainty);

/// Reports whether a plain ring among these strategies hides 99 % of its forward KV hops.
bool ringHidesForward(const std::vector<Prediction>& strategies);

/// Predictions over lengths that double, each rounded up to a length that the balance can share.
struct LengthSweep {
  std::vector<std::int64_t> lengths;
  std::vector<std::vector<Prediction>> at;  ///< by length: all strategies that can run
  /// The shortest length from which on, up to the last, the ring hides 99 % of its forward KV hops.
  /// It is found by halving between the lengths above. nullopt: the last length does not hide them.
  std::optional<std::int64_t> ring_hides_forward_at;
  /// A ring's forward KV hops take time at one of the lengths.
  bool ring_has_hops = false;
};
LengthSweep sweepLengths(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device,
                         const Hardware& hardware, std::int64_t from, std::int64_t to);

}  // namespace ringscope::traces
