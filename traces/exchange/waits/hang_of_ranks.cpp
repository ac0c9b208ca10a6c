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

/// Returns the ranks of these whose wait ended in an error.
std::vector<WorldRank> brokenRanks(const std::vector<RankSeen>& ranks) {
  std::vector<WorldRank> broken;
  for (const RankSeen& rank : ranks)
    if (rank.standing.broken) broken.push_back(rank.rank);
  return broken;
}

/// Returns the rank to name for a wait. A rank that has ended cannot arrive, so it is named before
/// ranks that may only have been slower.
WorldRank rankToName(const std::vector<RankSeen>& ranks, const Wait& wait) {
  if (!wait.odd.empty()) return wait.odd.front();
  for (const RankSeen& rank : ranks)
    if (rank.ended && std::ranges::find(wait.missing, rank.rank) != wait.missing.end())
      return rank.rank;
  return wait.missing.empty() ? wait.ranks.front() : wait.missing.front();
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
  const std::vector<WorldRank> broken = brokenRanks(ranks);
  if (broken.empty() && hang.waited_ns < (hang.certain ? kCertainNs : kLikelyNs))
    return std::nullopt;
  hang.rank = rankToName(ranks, waits.front());
  // The training step of a rank that has ended or was not seen is unknown.
  const auto named = std::ranges::find(ranks, hang.rank, &RankSeen::rank);
  const bool known = named != ranks.end() && named->here && named->unseen.empty();
  const auto waiting = std::ranges::find(ranks, waits.front().ranks.front(), &RankSeen::rank);
  hang.train_step = (known ? named : waiting)->standing.train_step;
  hang.lines = describeWaits(waits);
  addPlaces(ranks, waits, hang.lines);
  if (!broken.empty())
    hang.lines.push_back("the wait of " + describeRanks(broken) + " ended in an error");
  return hang;
}

}  // namespace ringscope::traces
