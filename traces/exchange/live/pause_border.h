// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traces/format/schema/ids.h"

namespace ringscope::traces {

enum class PauseState {
  kGoing,
  kAsked,    ///< ranks have been asked for their current step
  kPausing,  ///< ranks continue to the border where all stop
  kPaused,   ///< all ranks are held there
};

/// The protocol that holds all ranks of a job at one step border. On a pause each rank stays in its
/// current training step and reports it. The latest of these steps is where all ranks stop; ranks
/// behind it continue to there. No rank is held before all have answered, and answers do not wait
/// for the job, so no rank waits for one that is held. Independent of connections: messages are
/// taken from it.
class PauseBorder {
 public:
  void begin(int world_size);
  void come(WorldRank rank, bool takes_pauses);
  /// Removes a rank that is gone or has ended its recording. The others are not held for it.
  void leave(WorldRank rank);

  /// Returns why a pause cannot be requested now; empty: it can.
  std::string refusal() const;
  void pause();
  void go();
  /// Lets a paused job continue to the next step border.
  void step();

  void held(WorldRank rank, std::int64_t step);
  void paused(WorldRank rank, std::int64_t step);

  PauseState state() const { return state_; }
  /// Returns the training step after which ranks stop; −1: not known yet.
  std::int64_t border() const { return border_; }

  /// Returns the pending lines for ranks, in order, and clears them.
  std::vector<std::pair<WorldRank, std::string>> takeMessages();
  /// Adds the message that is sent from time to time so that ranks know they are still being held.
  void remind();

 private:
  struct Rank {
    bool takes_pauses = false;
    std::optional<std::int64_t> step;
    bool stands = false;
  };
  void settle();
  void sendAll(const std::string& line);

  int world_size_ = 0;
  std::map<WorldRank, Rank> ranks_;
  PauseState state_ = PauseState::kGoing;
  std::int64_t border_ = -1;
  std::vector<std::pair<WorldRank, std::string>> messages_;
};

}  // namespace ringscope::traces
