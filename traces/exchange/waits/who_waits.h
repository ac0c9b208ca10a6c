// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/exchange/waits/standing.h"

namespace ringscope::traces {

/// The state of a rank of a running job, as far as it is known.
struct RankSeen {
  WorldRank rank;
  bool here = false;           ///< its recorder is connected
  bool ended = false;          ///< it reported that its recording ended
  bool paused = false;         ///< held at a step border
  std::int64_t silent_ns = 0;  ///< time since anything was received from it
  Standing standing;           ///< its position at that time
  /// A description of a rank whose position was not recorded; empty: `standing` is recorded.
  std::string unseen;
};

/// The ranks that wait in one collective or message.
struct Wait {
  std::vector<WorldRank> ranks;
  std::string where;                 ///< "all_reduce 17 of ranks 0 to 3 (8 KiB)"
  std::int64_t longest_ns = 0;       ///< waiting time of the first of them
  std::vector<WorldRank> missing;    ///< ranks that have not come
  std::vector<WorldRank> odd;        ///< ranks that have posted something else
  bool seen = false;                 ///< a rank is seen to wait; otherwise its last post had no
                                     ///< successor
  std::vector<std::string> because;  ///< one sentence per missing or mismatching rank

  /// Reports whether the reason of the wait is known: missing ranks or a mismatch.
  bool isTold() const { return !because.empty(); }
  bool isMismatch() const { return !odd.empty(); }
  /// Returns "ranks 0 and 2 have waited in … for 12 s: rank 1 has not come there".
  std::string sentence() const;
};

/// Returns every collective and message in which ranks currently wait. Waits whose reason is known
/// come first, and of these the longest. A rank whose wait cannot be seen, because C++ code waits,
/// is assumed to wait in its last post once it has shown no activity for a second.
std::vector<Wait> whoWaits(const std::vector<RankSeen>& ranks);

/// Returns the waits as lines of text: each wait, the state of each missing rank, and ranks that
/// wait for each other. Empty: no rank waits.
std::vector<std::string> describeWaits(const std::vector<Wait>& waits);

/// Reports whether ranks wait for each other in a circle.
bool waitForEachOther(const std::vector<Wait>& waits);

/// Reports whether a job hangs: a rank has waited for `after_ns`, and the reason is known.
bool hangs(const std::vector<Wait>& waits, std::int64_t after_ns);

/// Returns "rank 1", "ranks 0 and 2", "ranks 0 to 7" or "ranks 0, 2 and 5".
std::string describeRanks(std::vector<WorldRank> ranks);

}  // namespace ringscope::traces
