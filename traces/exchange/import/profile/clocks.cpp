// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "traces/exchange/import/profile/job.h"
#include "traces/exchange/waits/who_waits.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// One side of a matched call.
struct Side {
  std::uint64_t flow = 0;
  std::size_t rank = 0;
  std::int64_t began_ns = 0, end_ns = 0;
  bool needs_others = false;  ///< it ends only after the others have begun
  bool is_needed = false;     ///< the others end only after it has begun
};

/// Reports whether no rank ends such a collective before all ranks have begun it. An all-to-all may
/// give a rank nothing to wait for.
bool needsAllRanks(const std::string& name) {
  return name == "all_reduce" || name.starts_with("all_gather") ||
         name.starts_with("reduce_scatter") || name == "barrier";
}

std::vector<Side> sidesOf(const ProfiledJob& job) {
  std::vector<Side> sides;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    if (!job.ranks[rank].has_times) continue;
    for (const Call& call : job.ranks[rank].calls) {
      const bool all = call.kind == EventKind::kCollective && needsAllRanks(call.name);
      if (call.flow == 0 || (call.kind == EventKind::kCollective && !all)) continue;
      const bool late = job.ranks[rank].seen_late;
      sides.push_back({call.flow, rank,
                       late ? call.posted_ns : std::max(call.posted_ns, call.start_ns), call.end_ns,
                       call.completes && (all || call.kind == EventKind::kReceive),
                       all || call.kind == EventKind::kSend});
    }
  }
  std::ranges::stable_sort(sides, {}, &Side::flow);
  return sides;
}

/// The ranks that matched calls join, directly or over other ranks.
class JoinedRanks {
 public:
  explicit JoinedRanks(std::size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }
  std::size_t root(std::size_t rank) {
    while (parents_[rank] != rank) rank = parents_[rank] = parents_[parents_[rank]];
    return rank;
  }
  void join(std::size_t one, std::size_t other) { parents_[root(one)] = root(other); }

 private:
  std::vector<std::size_t> parents_;
};

/// Bounds on the ranks' shifts: the shift of `earlier` exceeds that of `later` by at most the
/// value.
class Bounds {
 public:
  explicit Bounds(const std::vector<Side>& sides) {
    for (auto at = sides.begin(); at != sides.end();) {
      const auto end = std::ranges::find_if(
          at, sides.end(), [&](const Side& side) { return side.flow != at->flow; });
      addCall({at, end});
      at = end;
    }
  }

  bool areKept() const {
    return std::ranges::all_of(most_,
                               [](const auto& bound) { return bound.second >= -kClockSlackNs; });
  }
  void joinRanks(JoinedRanks& joined) const {
    for (const auto& [pair, most] : most_) joined.join(pair.first, pair.second);
  }
  /// Requires that the clocks of two ranks stay as they are.
  void fix(std::size_t one, std::size_t other) {
    for (const auto& pair : {std::pair(one, other), std::pair(other, one)}) most_[pair] = 0;
  }

  /// Returns the largest shifts up to 0 that keep all bounds; empty when there are none.
  std::vector<std::int64_t> shifts(std::size_t count) const {
    std::vector<std::int64_t> shifts(count, 0);
    for (std::size_t round = 0; round <= count; ++round) {
      bool moved = false;
      for (const auto& [pair, most] : most_) {
        const auto [earlier, later] = pair;
        if (shifts[earlier] <= shifts[later] + most) continue;
        shifts[earlier] = shifts[later] + most;
        moved = true;
      }
      if (!moved) return shifts;
    }
    return {};
  }

 private:
  /// Every needed side begins before every other side ends. In a large group, only the latest begin
  /// and the earliest end count.
  void addCall(std::span<const Side> call) {
    constexpr std::size_t kFew = 8;
    const auto add = [&](const Side& needed, const Side& other) {
      if (needed.rank == other.rank || !needed.is_needed || !other.needs_others) return;
      const std::int64_t most = other.end_ns - needed.began_ns;
      const auto [at, is_new] = most_.try_emplace({needed.rank, other.rank}, most);
      if (!is_new) at->second = std::min(at->second, most);
    };
    if (call.size() <= kFew) {
      for (const Side& needed : call)
        for (const Side& other : call) add(needed, other);
      return;
    }
    const Side& latest = *std::ranges::max_element(call, {}, &Side::began_ns);
    const Side& first = *std::ranges::min_element(call, {}, &Side::end_ns);
    for (const Side& side : call) {
      add(latest, side);
      add(side, first);
    }
  }

  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> most_;
};

void move(ProfiledRank& rank, std::int64_t shift_ns) {
  for (Call& call : rank.calls)
    for (std::int64_t* ns : {&call.posted_ns, &call.start_ns, &call.end_ns}) *ns += shift_ns;
  for (Event& stage : rank.stages)
    for (std::int64_t* ns : {&stage.begin_ns, &stage.start_ns, &stage.end_ns}) *ns += shift_ns;
}

void moveRanks(ProfiledJob& job, const std::vector<std::int64_t>& shifts) {
  if (shifts.empty()) {
    job.lacks.emplace_back(
        "calls end at one rank before they begin at another, and no constant difference of the "
        "ranks' clocks explains all of them; times of different ranks are not comparable");
    return;
  }
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    if (shifts[i] == 0) continue;
    move(job.ranks[i], shifts[i]);
    const bool ahead = shifts[i] < 0;
    job.lacks.push_back("the clock of rank " + toString(job.ranks[i].rank) + " is " +
                        (ahead ? "ahead: its times were moved back by "
                               : "behind: its times were moved forward by ") +
                        describeDuration(std::abs(shifts[i])) +
                        ", the least by which no call ends at one rank before it begins "
                        "at another");
  }
}

/// Says which ranks' clocks no call compares with those of most ranks, or of the rank `fixed`.
void sayAlone(ProfiledJob& job, JoinedRanks& joined, std::optional<std::size_t> fixed) {
  constexpr const char* kWhy =
      ", because no completed message or collective that waits for all ranks joins them to others";
  std::map<std::size_t, std::vector<WorldRank>> parts;
  for (std::size_t i = 0; i < job.ranks.size(); ++i)
    if (job.ranks[i].has_times) parts[joined.root(i)].push_back(job.ranks[i].rank);
  const auto largest =
      std::ranges::max_element(parts, {}, [](const auto& part) { return part.second.size(); });
  const std::size_t main = fixed ? joined.root(*fixed) : largest->first;
  std::vector<WorldRank> alone;
  for (const auto& [root, ranks] : parts) {
    if (ranks.size() == 1 && (root != main || !fixed))
      alone.push_back(ranks.front());
    else if (root != main)
      job.lacks.push_back("the times of " + describeRanks(ranks) +
                          " are aligned with each other only" + kWhy);
  }
  std::ranges::sort(alone);
  if (!alone.empty())
    job.lacks.push_back("the times of " + describeRanks(alone) + " are by their own clocks" + kWhy);
}

}  // namespace

void alignClocks(ProfiledJob& job, const std::vector<WorldRank>& fixed) {
  if (std::ranges::count(job.ranks, true, &ProfiledRank::has_times) < 2) return;
  Bounds bounds(sidesOf(job));
  JoinedRanks joined(job.ranks.size());
  bounds.joinRanks(joined);
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    if (std::ranges::count(fixed, job.ranks[i].rank) == 0) continue;
    if (first) bounds.fix(*first, i);
    first = first.value_or(i);
    joined.join(*first, i);
  }
  if (!bounds.areKept()) {
    std::vector<std::int64_t> shifts = bounds.shifts(job.ranks.size());
    // Bounds are differences, so the fixed ranks can stay where they are.
    const std::int64_t moved = first && !shifts.empty() ? shifts[*first] : 0;
    for (std::size_t i = 0; moved != 0 && i < shifts.size(); ++i)
      if (joined.root(i) == joined.root(*first)) shifts[i] -= moved;
    moveRanks(job, shifts);
  }
  sayAlone(job, joined, first);
}

}  // namespace ringscope::traces
