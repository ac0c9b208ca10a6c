// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <vector>

#include "traces/exchange/import/profile/job.h"
#include "traces/exchange/waits/who_waits.h"

namespace ringscope::traces {
namespace {

/// Begins of matched calls of the ranks that are placed, by flow.
using Begins = std::map<std::uint64_t, std::int64_t>;

/// A position in the order of one rank, and its time.
struct Anchor {
  std::int64_t order = 0, ns = 0;
};

/// Returns the rank's calls that are matched with placed ones. Leaves out a call that would begin
/// before the previous anchor.
std::vector<Anchor> anchorsFor(const ProfiledRank& rank, const Begins& placed) {
  std::vector<Anchor> anchors;
  for (const Call& call : rank.calls) {
    const auto found = placed.find(call.flow);
    if (call.flow == 0 || found == placed.end()) continue;
    if (anchors.empty() ||
        (call.posted_ns > anchors.back().order && found->second > anchors.back().ns))
      anchors.push_back({call.posted_ns, found->second});
  }
  return anchors;
}

/// Returns the time of a position in the order.
std::int64_t timeAt(std::int64_t order, const std::vector<Anchor>& anchors) {
  const auto after = std::ranges::upper_bound(anchors, order, {}, &Anchor::order);
  if (after == anchors.begin()) return after->ns + order - after->order;
  const Anchor& before = *std::prev(after);
  if (after == anchors.end()) return before.ns + order - before.order;
  const double part =
      static_cast<double>(order - before.order) / static_cast<double>(after->order - before.order);
  return before.ns + static_cast<std::int64_t>(part * static_cast<double>(after->ns - before.ns));
}

void place(ProfiledRank& rank, const std::vector<Anchor>& anchors) {
  for (Call& call : rank.calls)
    for (std::int64_t* ns : {&call.posted_ns, &call.start_ns, &call.end_ns})
      *ns = timeAt(*ns, anchors);
  for (Event& stage : rank.stages)
    for (std::int64_t* ns : {&stage.begin_ns, &stage.start_ns, &stage.end_ns})
      *ns = timeAt(*ns, anchors);
}

void addBegins(const ProfiledRank& rank, Begins& placed) {
  for (const Call& call : rank.calls)
    if (call.flow != 0) placed.try_emplace(call.flow, call.posted_ns);
}

}  // namespace

void placeUntimed(ProfiledJob& job, std::int64_t start_ns) {
  Begins placed;
  std::int64_t first_ns = start_ns;
  bool any = false;
  std::vector<WorldRank> unmatched;
  for (const ProfiledRank& rank : job.ranks) {
    if (!rank.has_times) continue;
    addBegins(rank, placed);
    for (const Call& call : rank.calls) {
      first_ns = any ? std::min(first_ns, call.posted_ns) : call.posted_ns;
      any = true;
    }
  }
  for (ProfiledRank& rank : job.ranks) {
    if (rank.has_times) continue;
    std::vector<Anchor> anchors = anchorsFor(rank, placed);
    if (anchors.empty()) {
      if (any) unmatched.push_back(rank.rank);
      anchors.push_back({0, first_ns});
    }
    place(rank, anchors);
    addBegins(rank, placed);
    any = true;
  }
  if (!unmatched.empty())
    job.lacks.push_back("the order of " + describeRanks(unmatched) +
                        " is not placed among the other ranks, because no call of theirs is "
                        "matched with one of them");
}

}  // namespace ringscope::traces
