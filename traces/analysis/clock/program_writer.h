// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "traces/analysis/clock/planned_program.h"
#include "traces/format/schema/groups.h"

namespace ringscope::traces {

/// Writes a program in which all ranks do the same ops in the same order.
class ProgramWriter {
 public:
  /// `work`: where the work of each rank is summed; null: nowhere. `device` must outlive the
  /// writer.
  ProgramWriter(const RunSpec& run, const DeviceSpeed& device, std::vector<RankWork>* work);

  std::size_t rankCount() const { return program_.ranks.size(); }

  /// Adds the same work to each rank.
  void work(EventKind kind, const Place& place, const StageWork& work);
  /// Adds work of one rank; `source` owns the block.
  void workOn(std::size_t r, EventKind kind, const Place& place, const StageWork& work,
              WorldRank source);

  struct Posted {
    std::uint32_t exchange = Program::kNone;  ///< the same number on all ranks
    Place place;
    Payload payload = Payload::kNone;
  };
  /// Each rank posts a message of `bytes` to each of its receivers.
  Posted post(const Place& place, Payload payload, std::int64_t bytes,
              const std::function<std::vector<GroupRank>(GroupRank)>& receivers);
  void wait(const Posted& posted);
  /// Adds an all-reduce over `among` ranks. `together`: all ranks here are members of one
  /// collective; otherwise each is a member of its own.
  void allReduce(const Place& place, Payload payload, std::int64_t bytes, std::int32_t among,
                 GroupAxis axis, bool together);

  Program take() { return std::move(program_); }

 private:
  const bool recompute_;
  const DeviceSpeed& device_;
  Program program_;
  std::vector<RankWork>* const work_;
};

}  // namespace ringscope::traces
