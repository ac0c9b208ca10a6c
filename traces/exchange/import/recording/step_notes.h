// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "traces/exchange/import/recording/job.h"

namespace ringscope::traces {

/// Notes of training steps that list objects by rank: {"RANK": [object, …]}.
class StepNotes {
 public:
  void add(const Line& line, WorldRank rank, const nlohmann::json& object) {
    nlohmann::json& own = steps_[line.place(Direction::kForward).train_step][toString(rank)];
    if (own.is_null()) own = nlohmann::json::array();
    own.push_back(object);
  }

  /// Adds the notes to the job; `key` returns that of a training step.
  void addTo(RecordedJob& job, std::string (*key)(std::int32_t train_step)) const {
    for (const auto& [step, ranks] : steps_) job.notes.push_back({key(step), ranks.dump()});
  }

 private:
  std::map<std::int32_t, nlohmann::json> steps_;
};

}  // namespace ringscope::traces
