// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "viz/scene/step_account.h"
#include "viz/scene/tracks.h"

namespace ringscope::viz {

struct OwnClock;

/// A stretch of the chain that determines when a training step ends.
struct ChainLink {
  enum class Kind : std::uint8_t {
    kWork,   ///< a rank computes
    kMove,   ///< a message or a collective is under way
    kQueue,  ///< a message that both ends have posted waits for the link
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

/// How much of a chain is what, and where.
struct ChainAccount {
  std::int64_t computing_ns = 0, sending_ns = 0, waiting_ns = 0;
  std::vector<std::pair<WorldRank, std::int64_t>> ranks;  ///< the longest first

  std::int64_t allNs() const { return computing_ns + sending_ns + waiting_ns; }
};
ChainAccount accountOf(const CriticalChain& chain);

/// A section for the panel: shares of computing, sending, waiting for the link, and the ranks.
AccountSection sectionOf(const CriticalChain& chain);

/// Why there is none on the axis of the recording.
AccountSection whyNoRecordedChain(const traces::Trace& trace);

}  // namespace ringscope::viz
