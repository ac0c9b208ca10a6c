// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "traces/analysis/clock/planned_program.h"

namespace ringscope::traces {

/// Writes a program in which every rank does the same ops in the same order, with other neighbours
/// and other work: all ranks at once.
class ProgramWriter {
 public:
  /// `stages`: where to note what each rank does beside; null: nowhere.
  ProgramWriter(const RunSpec& run, const DeviceSpeed& device,
                std::vector<std::vector<PlannedStage>>* stages);

  /// What a measured device takes for a step beside its stages.
  void beginStep();

  int ranks() const { return static_cast<int>(program_.ranks.size()); }

  void work(EventKind kind, const Place& place, const StageWork& work);
  /// Of one rank only; `source`: whose block it is.
  void workOf(WorldRank who, EventKind kind, const Place& place, const StageWork& work,
              WorldRank source);

  /// The ranks that a rank sends to.
  using Receivers = std::function<std::vector<int>(int)>;
  struct Posted {
    std::uint32_t exchange = Program::kNone;  ///< the same number on all ranks
    Place place;
    Payload payload = Payload::kNone;
  };
  /// Each rank posts a message of `bytes` to each of `receivers(rank)`.
  Posted post(const Place& place, Payload payload, std::int64_t bytes, const Receivers& receivers);
  void wait(const Posted& posted);

  /// Over `among` ranks. `together`: all ranks here are members of one; else each of its own.
  void allReduce(const Place& place, Payload payload, std::int64_t bytes, std::int32_t among,
                 GroupAxis axis, bool together);

  Program take() { return std::move(program_); }

 private:
  void drawMessages(WorldRank who, const Posted& posted);
  std::int64_t postingNs(Payload payload, std::int64_t bytes, std::size_t messages) const;

  const RunSpec& run_;
  DeviceSpeed device_;
  Program program_;
  std::vector<std::vector<PlannedStage>>* const stages_;
};

}  // namespace ringscope::traces
