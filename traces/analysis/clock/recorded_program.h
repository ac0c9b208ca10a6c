// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "traces/analysis/clock/program.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// A recorded schedule, ready to be replayed with other links and devices.
struct RecordedProgram {
  Program program;
  /// events[rank][i] is the recorded event of program.ranks[rank].events[i].
  std::vector<std::vector<Event>> events;
  /// Why there is no model of this recording, a sentence each that says what capture would tell;
  /// empty: there is one.
  std::vector<std::string> lacks;
  /// What the model leaves out, or had to assume, a sentence each.
  std::vector<std::string> notes;
  /// Of these steps by the recording's clock, without pauses and verification.
  std::int64_t recorded_ns = 0;
  std::int64_t outside_ns = 0;  ///< mean of a rank: recorded wall time between its events
  bool own_cores = false;       ///< the recording says that each rank had a core of its own

  bool usable() const { return lacks.empty(); }
};

/// What was recorded of some training steps, apart from its trace: any thread may have it.
struct StepEvents {
  std::vector<std::vector<Event>> of_rank;
  std::optional<RunSpec> run;
  std::vector<GroupRecord> groups;
  std::uint64_t dropped = 0;  ///< events, in the whole recording
  bool foreign = false;       ///< of somebody else's program
};
/// Of all ranks together.
std::size_t countEvents(const std::vector<std::vector<Event>>& of_rank);
/// Of training steps first to last, both included.
StepEvents stepEvents(const Trace& trace, std::int32_t first_step, std::int32_t last_step);

/// The schedule of these training steps, read from what was recorded: stages
/// with their CPU time (of a device's queue: with its time), messages, exchanges, collectives. What
/// a stage holds inside (collectives, posts) cuts its time in proportion to the recorded clock. A
/// pause and verification are left out. Between events of a rank the recorded clock counts as its
/// work where every rank had its own core, and as nothing elsewhere. O(n log n) in events. Throws
/// Stopped soon after `stop` asks for it.
RecordedProgram recordedProgram(StepEvents events, const std::stop_token& stop = {});
/// Of training steps first to last, both included.
RecordedProgram recordedProgram(const Trace& trace, std::int32_t first_step,
                                std::int32_t last_step);

/// Training steps with events of any rank, ascending.
std::vector<std::int32_t> recordedSteps(const Trace& trace);

}  // namespace ringscope::traces
