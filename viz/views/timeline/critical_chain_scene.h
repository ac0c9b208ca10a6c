// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "viz/scene/tracks.h"
#include "viz/views/timeline/step_account_scene.h"

namespace ringscope::traces {
struct RecordedProgram;
}

namespace ringscope::viz {

struct OwnClock;

/// A stretch of the chain that determines when a training step ends.
struct ChainLink {
  enum class Kind : std::uint8_t {
    kWork,  ///< a rank computes
    kMove,  ///< a message or a collective is under way
    kWait,  ///< a message that was posted has not begun to move, or has arrived and is not yet seen
  };
  WorldRank rank;                      ///< who computes or sends; of a collective who waits for it
  LaneKind lane = LaneKind::kCompute;  ///< of that rank, on which it is drawn
  std::int64_t begin_ns = 0, end_ns = 0;  ///< on the axis
  Kind kind = Kind::kWork;

  std::int64_t length() const { return end_ns - begin_ns; }
  friend bool operator==(const ChainLink&, const ChainLink&) = default;
};

/// What could not have been quicker without the step ending earlier: ascending, without gaps.
struct CriticalChain {
  std::vector<ChainLink> links;
};
std::shared_ptr<const CriticalChain> criticalChain(const OwnClock& clock);

/// The same of what was recorded, on an axis with these folds: back from the last end over a rank's
/// own time to the wait before, over the message that ended it to who posted that last, and on from
/// there. `recorded` must be usable, and every rank must have had a core of its own; else null:
/// what kept a rank from its core is not recorded.
std::shared_ptr<const CriticalChain> recordedChain(const traces::RecordedProgram& recorded,
                                                   const TimeFolds& folds);

/// How much of a chain is what, and where.
struct ChainAccount {
  std::int64_t computing_ns = 0, sending_ns = 0, waiting_ns = 0;
  std::vector<std::pair<WorldRank, std::int64_t>> ranks;  ///< the longest first

  std::int64_t allNs() const { return computing_ns + sending_ns + waiting_ns; }
};
ChainAccount accountOf(const CriticalChain& chain);

/// A section for the panel: shares of computing, sending, waiting, and the ranks.
AccountSection sectionOf(const CriticalChain& chain);

/// Why recordedChain() gives none, with what does.
AccountSection whyNoRecordedChain(const traces::RecordedProgram& recorded,
                                  const traces::Trace& trace);

}  // namespace ringscope::viz
