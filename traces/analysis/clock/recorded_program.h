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
  /// Reasons why there is no model of the recording, one sentence each, with the capture that would
  /// give one. Empty: there is a model.
  std::vector<std::string> lacks;
  /// Omissions and assumptions of the model, one sentence each.
  std::vector<std::string> notes;
  std::int64_t recorded_ns = 0;  ///< of all steps, without pauses and verification
  std::int64_t outside_ns = 0;   ///< recorded wall time between a rank's events, mean of the ranks
  bool own_cores = false;        ///< the recording says that each rank had its own core

  bool usable() const { return lacks.empty(); }
};

/// The records of some training steps, copied from a trace so that any thread can own them.
struct StepEvents {
  std::vector<std::vector<Event>> of_rank;
  std::optional<RunSpec> run;
  std::vector<GroupRecord> groups;
  std::uint64_t dropped = 0;  ///< events that the whole recording dropped
  bool foreign = false;       ///< another program was recorded
};
/// Returns the number of events of all ranks.
std::size_t countEvents(const std::vector<std::vector<Event>>& of_rank);
/// Copies training steps first to last, both included.
StepEvents stepEvents(const Trace& trace, std::int32_t first_step, std::int32_t last_step);

/// Reads the schedule of recorded training steps: stages with their CPU time, or with their time in
/// a device's queue, messages, exchanges and collectives. Events inside a stage cut its time in
/// proportion to the recorded clock. Pauses and verification are left out. Time between the events
/// of a rank is work if every rank had its own core, and is ignored otherwise. O(n log n) in
/// events. Throws Stopped soon after `stop` asks for it.
RecordedProgram recordedProgram(StepEvents events, const std::stop_token& stop = {});
RecordedProgram recordedProgram(const Trace& trace, std::int32_t first_step,
                                std::int32_t last_step);

/// Returns the training steps in which any rank has events, ascending.
std::vector<std::int32_t> recordedSteps(const Trace& trace);

}  // namespace ringscope::traces
