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
  kAsked,    ///< ranks have been asked which step they are in
  kPausing,  ///< they go to the border where all stop
  kPaused,   ///< all stand there
};

/// Brings all ranks of a job to stand at one step border. Asked to hold, each rank stays in the
/// training step that it is in, and says which; the latest of them is where all stop, and whoever
/// is behind goes on to there. No rank is held before all have answered, and answers do not wait
/// for the job, so nobody waits for one that is held. Knows no connection: what is to be sent is
/// taken from it.
class PauseBorder {
 public:
  void begin(int world_size);
  void come(WorldRank rank, bool takes_pauses);
  /// The rank is gone or has ended its recording: the others are not held for it.
  void leave(WorldRank rank);

  /// Why a pause cannot be asked for now; empty: it can.
  std::string refusal() const;
  void pause();
  void go();
  /// Of a paused job: on to the next step border.
  void step();

  void held(WorldRank rank, std::int64_t step);
  void paused(WorldRank rank, std::int64_t step);

  PauseState state() const { return state_; }
  /// The border: after this training step. −1: not known yet.
  std::int64_t border() const { return border_; }

  /// Lines for a rank, in order; they are then forgotten.
  std::vector<std::pair<WorldRank, std::string>> takeMessages();
  /// What is said from time to time, so that ranks know that somebody holds them.
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
