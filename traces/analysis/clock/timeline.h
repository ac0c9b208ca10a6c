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

/// The cost of one wait or collective of one rank. Its messages are under way from when both ends
/// have posted them until they arrive; messages that are under way together count once.
///   under_way_ns = hidden_ns + (exposed_ns − late_ns)
struct WaitCost {
  WorldRank rank;
  std::uint32_t event = Program::kNone;  ///< the wait or collective, in the rank's events
  Place place;
  Payload payload = Payload::kNone;
  std::int64_t bytes = 0;         ///< received; of a collective its payload
  std::int64_t under_way_ns = 0;  ///< communication time
  std::int64_t hidden_ns = 0;     ///< communication time during which the rank worked
  std::int64_t exposed_ns = 0;    ///< time during which the rank stood still
  std::int64_t late_ns = 0;       ///< the part of exposed_ns before the last peer had posted
};

/// Returns the share of the time in flight during which the rank worked; nullopt when nothing was
/// in flight. This is the one definition of hidden communication, for predictions and for
/// recordings.
std::optional<double> hiddenShare(std::int64_t hidden_ns, std::int64_t in_flight_ns);

/// Sums of WaitCost.
struct CommunicationSum {
  std::int64_t bytes = 0, under_way_ns = 0, hidden_ns = 0, exposed_ns = 0, late_ns = 0;
  int waits = 0;
  void add(const WaitCost& cost);
  CommunicationSum& operator+=(const CommunicationSum& more);
  std::optional<double> hiddenShare() const { return traces::hiddenShare(hidden_ns, under_way_ns); }
};

/// One stretch of the critical path: the step would end earlier if it were shorter.
struct CriticalPart {
  enum class Kind : std::uint8_t { kWork, kTransfer };
  WorldRank rank;                        ///< that worked, or that waited for the transfer
  std::uint32_t event = Program::kNone;  ///< the stage, or the wait or collective
  ClockSpan span;  ///< of a transfer from when its last end or member had posted it
  Kind kind = Kind::kWork;
  std::uint32_t message = Program::kNone;  ///< index in Program::messages; none for collectives
  std::uint32_t op = 0;                    ///< index in the rank's ops
};

/// The times of a replayed program. Indices are those of the program.
struct ModelTimeline {
  /// spans[rank][event]. A stage, wait or collective goes from its begin to its end. A send or
  /// receive begins to move when both ends have posted it and the link is free, and ends on
  /// arrival.
  std::vector<std::vector<ClockSpan>> spans;
  std::vector<WaitCost> waits;            ///< by rank, in each rank's order
  std::vector<std::int64_t> rank_end_ns;  ///< the end of each rank's last op
  /// The end of each training step on its last rank, ascending.
  std::vector<std::pair<std::int32_t, std::int64_t>> step_end_ns;
  std::vector<CriticalPart> critical_path;  ///< ascending, without gaps, from 0 to the end

  std::int64_t endNs() const { return step_end_ns.empty() ? 0 : step_end_ns.back().second; }
  /// Returns the mean time of a training step.
  double stepNs() const;
  /// Sums the waits of one rank, or of all ranks.
  CommunicationSum sum(std::optional<WorldRank> rank = {}) const;
};

/// Replays a program as if every rank had its own device. Work takes its time, and at least the
/// floor of its kernels. A message moves when both ends have posted it, and takes at least the
/// floor of transfers from then on; a wait ends when its messages have arrived and left. A
/// collective begins when its last member has posted it, and takes allReduceTime(). Messages of one
/// exchange leave in the order of their receivers after the sender, as in NCCL's all-to-all, so
/// that they do not collide. Deterministic; O(n log n) in ops and messages. Throws usageError for
/// unsupported hardware, inputError for a deadlock, and Stopped soon after `stop` asks for it.
ModelTimeline replay(const Program& program, const Hardware& hardware,
                     const std::stop_token& stop = {});

}  // namespace ringscope::traces
