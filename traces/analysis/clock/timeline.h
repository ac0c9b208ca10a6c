// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "traces/analysis/clock/hardware.h"
#include "traces/analysis/clock/program.h"

namespace ringscope::traces {

/// A stretch of the model's axis, in nanoseconds since the first step began.
struct ClockSpan {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t duration() const { return end_ns - begin_ns; }
  friend bool operator==(const ClockSpan&, const ClockSpan&) = default;
};

/// What one wait or collective of one rank cost. For its messages, "under way" is from when both
/// ends had posted to the arrival; several at once count once.
///   under_way_ns = hidden_ns + (exposed_ns − late_ns)
struct WaitCost {
  WorldRank rank;
  std::uint32_t event = Program::kNone;  ///< the wait or collective, of the rank's events
  Place place;
  Payload payload = Payload::kNone;
  std::int64_t bytes = 0;         ///< received; of a collective its payload
  std::int64_t under_way_ns = 0;  ///< communication time
  std::int64_t hidden_ns = 0;     ///< of that: under the rank's own work
  std::int64_t exposed_ns = 0;    ///< the rank stood still
  std::int64_t late_ns = 0;  ///< of that: nothing was under way, because a peer had not posted yet
};

/// The share of the time in flight, from when both ends had posted until the arrival, during which
/// the rank worked. The one definition of hidden communication, for predictions and for accounts of
/// what was recorded; nothing: no communication was in flight.
std::optional<double> hiddenShare(std::int64_t hidden_ns, std::int64_t in_flight_ns);

/// Sums of WaitCost.
struct CommunicationSum {
  std::int64_t bytes = 0, under_way_ns = 0, hidden_ns = 0, exposed_ns = 0, late_ns = 0;
  int waits = 0;
  void add(const WaitCost& cost);
  std::optional<double> hiddenShare() const { return traces::hiddenShare(hidden_ns, under_way_ns); }
};

/// What to sum: all fields that are set must agree.
struct CommunicationFilter {
  std::optional<WorldRank> rank;
  std::optional<std::int32_t> train_step;
  std::optional<Layer> layer;
  std::optional<Direction> direction;
  std::optional<Payload> payload;
};

/// One stretch of the critical path: what could not have been quicker without the step ending
/// earlier. `event` is the stage, or for a transfer the wait or collective that it ended.
struct CriticalPart {
  enum class Kind : std::uint8_t { kWork, kTransfer };
  WorldRank rank;  ///< who worked, or who waited for the transfer
  std::uint32_t event = Program::kNone;
  ClockSpan span;
  Kind kind = Kind::kWork;
  /// Of a transfer: which of Program::messages, from when both ends had posted it; none: a
  /// collective, from when its last member had posted it.
  std::uint32_t message = Program::kNone;
  std::uint32_t op = 0;  ///< of the rank's ops
};

/// A program replayed. A pure value; indices are those of the program.
struct ModelTimeline {
  /// spans[rank][event]: a stage, wait or collective from its begin to its end; a send or receive
  /// from when it began to move (both ends had posted it, and the link was free) to its arrival.
  std::vector<std::vector<ClockSpan>> spans;
  std::vector<WaitCost> waits;            ///< by rank, each in its order
  std::vector<std::int64_t> rank_end_ns;  ///< when each rank had done everything
  /// Ascending: when the last rank had ended each training step of the program.
  std::vector<std::pair<std::int32_t, std::int64_t>> step_end_ns;
  std::vector<CriticalPart> critical_path;  ///< ascending, without gaps, from 0 to the end

  std::int64_t endNs() const { return step_end_ns.empty() ? 0 : step_end_ns.back().second; }
  /// Mean time of a training step.
  double stepNs() const;
  CommunicationSum sum(const CommunicationFilter& filter = {}) const;
};

/// Replays a program as if every rank had its own device. Work takes its time, and at least the
/// floor of its kernels; a message moves when both ends have posted it, and takes at least the
/// floor of transfers from then on; a wait ends when its messages have arrived and left; a
/// collective begins when its last member has posted it. All-reduce: the quicker of a ring, 2(n −
/// 1) steps of bytes ÷ n, and a tree, 2⌈log₂ n⌉ steps of all bytes, and at least the floor.
/// Messages of one exchange leave in the order of their receivers after the sender, as NCCL's
/// all-to-all does, so that they do not collide. Deterministic; O(n log n) in ops and messages.
/// Throws usageError for hardware that cannot be, inputError when ranks wait for each other for
/// ever, Stopped soon after `stop` asks for it.
ModelTimeline replay(const Program& program, const Hardware& hardware,
                     const std::stop_token& stop = {});

}  // namespace ringscope::traces
