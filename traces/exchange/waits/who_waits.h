// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/exchange/waits/standing.h"

namespace ringscope::traces {

/// A rank of a job that goes on, as far as it is known.
struct RankSeen {
  WorldRank rank;
  bool here = false;           ///< its recorder is connected
  bool ended = false;          ///< it said that its recording ended
  bool paused = false;         ///< held at a step border
  std::int64_t silent_ns = 0;  ///< since anything was heard of it
  Standing standing;           ///< when that was
  /// What is said of a rank of which it is not recorded where it stands; empty: that is recorded.
  std::string unseen;
};

/// Ranks that stand in one collective or message.
struct Wait {
  std::vector<WorldRank> ranks;
  std::string where;               ///< "all_reduce 17 of ranks 0 to 3 (8 KiB)"
  std::int64_t longest_ns = 0;     ///< how long the first of them has stood there
  std::vector<WorldRank> missing;  ///< have not come there
  std::vector<WorldRank> odd;      ///< have posted something else there
  bool seen = false;               ///< a rank is seen to wait; else it posted and nothing followed
  std::vector<std::string> because;  ///< a sentence for each of them, or what does not fit

  /// Whether what is waited for is known: who is missing, or what does not fit.
  bool isTold() const { return !because.empty(); }
  bool isMismatch() const { return !odd.empty(); }
  /// "ranks 0 and 2 have waited in … for 12 s: rank 1 has not come there".
  std::string sentence() const;
};

/// Who waits for whom: every collective and message in which ranks stand now, those first of which
/// it is told why, and of these the one that has been waited in longest. A rank whose wait cannot
/// be seen, since C++ code waits for it, stands in what it posted last once nothing has been seen
/// of it for a second.
std::vector<Wait> whoWaits(const std::vector<RankSeen>& ranks);

/// The same in lines to be read: each wait, what is known of each missing rank, and ranks that wait
/// for each other. Empty: nobody waits.
std::vector<std::string> describeWaits(const std::vector<Wait>& waits);

/// Reports whether ranks wait for each other in a circle.
bool waitForEachOther(const std::vector<Wait>& waits);

/// Whether a job hangs: somebody has waited for `after_ns`, and it is told why.
bool hangs(const std::vector<Wait>& waits, std::int64_t after_ns);

/// "rank 1", "ranks 0 and 2", "ranks 0 to 7", "ranks 0, 2 and 5".
std::string describeRanks(std::vector<WorldRank> ranks);

}  // namespace ringscope::traces
