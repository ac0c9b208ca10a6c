// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "traces/analysis/account/lanes.h"
#include "traces/analysis/account/step_account.h"
#include "traces/analysis/account/time_folds.h"

namespace ringscope::traces {

struct OwnClock;
struct RecordedProgram;

/// One stretch of the chain that determines when a training step ends.
struct ChainLink {
  enum class Kind : std::uint8_t {
    kWork,  ///< a rank computes
    kMove,  ///< a message or a collective is under way
    kWait,  ///< a message that was posted has not begun to move, or has arrived and is not yet seen
  };
  WorldRank rank;  ///< the rank that computes or sends; for a collective, the rank that waits
  LaneKind lane = LaneKind::kCompute;     ///< the lane of that rank
  std::int64_t begin_ns = 0, end_ns = 0;  ///< on the axis
  Kind kind = Kind::kWork;

  std::int64_t length() const { return end_ns - begin_ns; }
  friend bool operator==(const ChainLink&, const ChainLink&) = default;
};

/// The critical path: stretches that ascend without gaps. A shorter stretch would end the step
/// earlier.
struct CriticalChain {
  std::vector<ChainLink> links;
};
/// Returns the critical path of the model.
std::shared_ptr<const CriticalChain> criticalChain(const OwnClock& clock);

/// Returns the critical path of the recorded step, on an axis with these folds. The walk begins at
/// the last end. It follows the rank's own time back to a wait, then the message that ended the
/// wait to the rank that posted last. Returns null when `recorded` is not usable or ranks shared
/// cores: the recording does not say what kept a rank from its core.
std::shared_ptr<const CriticalChain> recordedChain(const RecordedProgram& recorded,
                                                   const TimeFolds& folds);

/// The shares of a critical path by kind and by rank.
struct ChainAccount {
  std::int64_t computing_ns = 0, sending_ns = 0, waiting_ns = 0;
  std::vector<std::pair<WorldRank, std::int64_t>> ranks;  ///< the longest first

  std::int64_t allNs() const { return computing_ns + sending_ns + waiting_ns; }
};
ChainAccount chainAccount(const CriticalChain& chain);

/// Returns the shares of computing, sending, waiting and of the ranks as a section.
AccountSection chainSection(const CriticalChain& chain);

/// Says why recordedChain() returns null, and what would give a critical path.
AccountSection whyNoRecordedChain(const RecordedProgram& recorded, const Trace& trace);

}  // namespace ringscope::traces
