// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/waits/hang_of_ranks.h"

#include <algorithm>
#include <map>

namespace ringscope::traces {
namespace {

constexpr std::int64_t kCertainNs = 5'000'000'000, kLikelyNs = 10'000'000'000;

/// Adds a sentence per line of the job's code: "ranks 0 and 1 stand at train.py:41 (load)".
void addPlaces(const std::vector<RankSeen>& ranks, const std::vector<Wait>& waits,
               std::vector<std::string>& lines) {
  std::map<std::string, std::vector<WorldRank>> by_place;
  for (const RankSeen& rank : ranks) {
    const bool waiting = std::ranges::any_of(waits, [&](const Wait& wait) {
      return std::ranges::find(wait.ranks, rank.rank) != wait.ranks.end();
    });
    if (waiting && !rank.standing.at.empty()) by_place[rank.standing.at].push_back(rank.rank);
  }
  for (const auto& [place, standing] : by_place)
    lines.push_back(describeRanks(standing) +
                    (standing.size() == 1 ? " stands at " : " stand at ") + place);
}

}  // namespace

std::optional<Hang> hangOfRanks(const std::vector<RankSeen>& ranks) {
  std::vector<Wait> waits = whoWaits(ranks);
  std::erase_if(waits, [](const Wait& wait) { return !wait.isTold(); });
  if (waits.empty()) return std::nullopt;
  Hang hang;
  const bool mismatch = std::ranges::any_of(waits, &Wait::isMismatch);
  const bool circle = waitForEachOther(waits);
  hang.different = mismatch || circle;
  hang.certain = mismatch || (circle && std::ranges::all_of(waits, &Wait::seen));
  for (const Wait& wait : waits) hang.waited_ns = std::max(hang.waited_ns, wait.longest_ns);
  if (hang.waited_ns < (hang.certain ? kCertainNs : kLikelyNs)) return std::nullopt;
  const Wait& first = waits.front();
  hang.rank = !first.odd.empty()       ? first.odd.front()
              : !first.missing.empty() ? first.missing.front()
                                       : first.ranks.front();
  for (const RankSeen& rank : ranks)
    if (rank.rank == hang.rank) hang.train_step = rank.standing.train_step;
  hang.lines = describeWaits(waits);
  addPlaces(ranks, waits, hang.lines);
  return hang;
}

}  // namespace ringscope::traces
