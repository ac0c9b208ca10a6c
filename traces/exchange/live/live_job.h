// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/exchange/live/pause_border.h"
#include "traces/exchange/live/rank_stream.h"
#include "traces/exchange/waits/who_waits.h"

namespace ringscope::traces {

/// A job that sends its recording, as it is now.
struct JobSeen {
  int number = 0;      ///< from 1; 0: none has come
  std::string folder;  ///< its recording
  int world_size = 0;
  std::vector<RankSeen> ranks;  ///< those that have come, by rank
  std::uint64_t lines = 0;      ///< of all ranks
  std::int64_t border = -1;     ///< the last training step that all ranks have ended; −1: none
  PauseState pause = PauseState::kGoing;
  std::int64_t pause_border = -1;    ///< after which training step; −1: not known yet
  std::string pause_refusal;         ///< why it cannot be held; empty: it can
  std::uint64_t refusals = 0;        ///< of connections that were not taken or broke
  std::vector<std::string> refused;  ///< why: the last of them

  bool isHere() const;  ///< a rank is connected
};

/// The ranks of a job, by what their connections send. One job at a time: another begins when a
/// rank comes while none of the one before is connected any more. Knows no connection and no clock.
class LiveJob {
 public:
  /// `folder` gets the recording of the first job; others, or where something is there already, go
  /// into FOLDER-2, FOLDER-3, ….
  explicit LiveJob(std::string folder, const StreamLimits& limits = {});

  /// Throws inputError that says why the rank is not taken.
  void come(const Hello& hello, std::int64_t now_ns);
  /// What the rank sent after its hello. Throws inputError; it must then leave().
  void feed(WorldRank rank, std::string_view bytes, std::int64_t now_ns);
  void leave(WorldRank rank);

  PauseBorder& pauses() { return pauses_; }
  JobSeen seen(std::int64_t now_ns) const;
  /// Writes into the recording that the job hangs, again each time that its wait has doubled, and
  /// that it goes on. What was concluded stays once a rank has gone. Throws inputError where that
  /// cannot be written, once for a job.
  void writeVerdict(std::int64_t now_ns, std::int64_t unix_ns);

 private:
  struct Rank {
    std::unique_ptr<RankStream> stream;  ///< while it is connected
    RankSeen seen;
    std::int64_t heard_ns = 0, border = -1;
    std::uint64_t lines = 0;
  };
  void beginJob(int world_size);
  bool anyHere() const;
  void writeVerdictLine(const nlohmann::json& line);

  std::string base_;
  StreamLimits limits_;
  int number_ = 0;
  std::string folder_;
  int world_size_ = 0;
  std::map<WorldRank, Rank> ranks_;
  PauseBorder pauses_;
  NewFile verdicts_;
  std::int64_t said_waited_ns_ = 0;  ///< of the hang that was written last; 0: it goes on
  bool verdicts_fail_ = false;
};

}  // namespace ringscope::traces
