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

/// The current state of a job that sends its recording.
struct JobSeen {
  int number = 0;      ///< 1 and above; 0: no job has come
  std::string folder;  ///< folder of its recording
  int world_size = 0;
  std::vector<RankSeen> ranks;  ///< ranks that have connected, by rank
  std::uint64_t lines = 0;      ///< lines of all ranks
  std::int64_t border = -1;     ///< last training step that all ranks have ended; −1: none
  PauseState pause = PauseState::kGoing;
  std::int64_t pause_border = -1;    ///< training step after which it is held; −1: not known yet
  std::string pause_refusal;         ///< reason why it cannot be held; empty: it can
  std::uint64_t refusals = 0;        ///< connections that were refused or broke
  std::vector<std::string> refused;  ///< reasons of the last refusals

  bool isHere() const;  ///< whether a rank is connected
};

/// The ranks of a job, as received over their connections. There is one job at a time: another job
/// begins when a rank connects while no rank of the previous job is connected. Independent of
/// sockets and clocks.
class LiveJob {
 public:
  /// Uses `folder` for the recording of the first job. Further jobs, or all jobs when the folder is
  /// not empty, use FOLDER-2, FOLDER-3, ….
  explicit LiveJob(std::string folder, const StreamLimits& limits = {});

  /// Adds a rank. Throws inputError with the reason when the rank is refused.
  void come(const Hello& hello, std::int64_t now_ns);
  /// Handles what the rank sent after its hello. After inputError the caller must call leave().
  void feed(WorldRank rank, std::string_view bytes, std::int64_t now_ns);
  void leave(WorldRank rank);

  PauseBorder& pauses() { return pauses_; }
  JobSeen seen(std::int64_t now_ns) const;
  /// Writes into the recording that the job hangs, again whenever its waiting time has doubled, and
  /// that the job goes on. A verdict stays valid after a rank has gone. Throws inputError when it
  /// cannot be written, once per job.
  void writeVerdict(std::int64_t now_ns, std::int64_t unix_ns);

 private:
  struct Rank {
    std::unique_ptr<RankStream> stream;  ///< null while the rank is not connected
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
  std::int64_t said_waited_ns_ = 0;  ///< waiting time of the last hang that was written; 0: the job
                                     ///< goes on
  bool verdicts_fail_ = false;
};

}  // namespace ringscope::traces
