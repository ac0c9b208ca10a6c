// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "traces/exchange/import/profile/job.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// The calls of one rank in one group, in the order of posting.
using Calls = std::vector<Call*>;

/// The calls of the members of one group.
struct GroupCalls {
  const NamedGroup* group = nullptr;
  std::vector<WorldRank> ranks;  ///< ranks that have a file
  std::vector<Calls> calls;      ///< calls of each of these ranks
};

class CollectiveMatch {
 public:
  CollectiveMatch(ProfiledJob& job, Matched& matched) : job_(job), matched_(matched) {}

  void match() {
    for (GroupCalls& group : groups()) matchGroup(group);
    for (const ProfiledRank& rank : job_.ranks)
      for (const Call& call : rank.calls)
        matched_.unmatched_collectives += call.kind == EventKind::kCollective && call.flow == 0;
  }

 private:
  std::vector<GroupCalls> groups() {
    std::map<std::pair<std::string, std::vector<WorldRank>>, GroupCalls> all;
    for (ProfiledRank& rank : job_.ranks)
      for (Call& call : rank.calls) {
        if (call.kind != EventKind::kCollective || call.group < 0) continue;
        const NamedGroup& group = rank.groups[static_cast<std::size_t>(call.group)];
        GroupCalls& of = all[{group.name, group.members}];
        if (!of.group) {
          of.group = &group;
          for (const std::size_t member : presentMembers(job_, group))
            of.ranks.push_back(job_.ranks[member].rank);
          of.calls.resize(of.ranks.size());
        }
        const auto at = std::ranges::find(of.ranks, rank.rank);
        if (at != of.ranks.end())
          of.calls[static_cast<std::size_t>(at - of.ranks.begin())].push_back(&call);
      }
    std::vector<GroupCalls> list;
    for (auto& [name, of] : all) {
      for (Calls& calls : of.calls) std::ranges::stable_sort(calls, {}, &Call::posted_ns);
      list.push_back(std::move(of));
    }
    return list;
  }

  void matchGroup(GroupCalls& group) {
    const bool numbered = std::ranges::all_of(group.calls, [](const Calls& calls) {
      return std::ranges::all_of(calls, [](const Call* call) { return call->sequence >= 0; });
    });
    if (numbered) return matchByNumber(group);
    if (sameCounts(group.calls)) {
      matchInOrder(group, group.calls, ", and neither is what follows");
      return;
    }
    const bool steps = std::ranges::all_of(job_.ranks, &ProfiledRank::marks_steps);
    std::map<std::int32_t, std::vector<Calls>> by_step;
    for (std::size_t r = 0; steps && r < group.calls.size(); ++r)
      for (Call* call : group.calls[r]) {
        auto& of_step = by_step[call->train_step];
        of_step.resize(group.calls.size());
        of_step[r].push_back(call);
      }
    for (auto& [step, calls] : by_step)
      if (sameCounts(calls))
        matchInOrder(group, calls, ", and neither is what follows in this step");
    job_.lacks.push_back(describeGroup(group) + " called " + describeCounts(group) +
                         ", so which belong together " +
                         (steps ? "is told only for training steps in which all called as many"
                                : "is not told: profile the same training steps on each rank"));
  }

  static bool sameCounts(const std::vector<Calls>& calls) {
    return std::ranges::all_of(
        calls, [&](const Calls& own) { return own.size() == calls.front().size(); });
  }

  void matchByNumber(GroupCalls& group) {
    std::map<std::int64_t, Calls> by_number;
    for (const Calls& calls : group.calls)
      for (Call* call : calls) by_number[call->sequence].push_back(call);
    // All parts of a coalesced call have the same number. The first parts of all ranks are one
    // collective.
    for (auto& [number, calls] : by_number) {
      if (calls.size() % group.ranks.size() != 0) {
        sayMissing(group, number, calls);
        continue;
      }
      std::vector<Calls> of_rank(group.ranks.size());
      for (std::size_t i = 0; i < calls.size(); ++i)
        of_rank[i / (calls.size() / group.ranks.size())].push_back(calls[i]);
      matchInOrder(group, of_rank, "");
    }
  }

  /// Matches calls in order until two ranks disagree. The remaining calls stay unmatched; `rest`
  /// ends the sentence about them.
  void matchInOrder(const GroupCalls& group, const std::vector<Calls>& calls, const char* rest) {
    for (std::size_t i = 0; i < calls.front().size(); ++i) {
      const Call& first = *calls.front()[i];
      for (std::size_t r = 1; r < calls.size(); ++r)
        if (calls[r][i]->name != first.name) {
          sayOther(group, first, *calls[r][i], r, rest);
          return;
        }
      const std::uint64_t flow = ++flow_;
      for (const Calls& own : calls) own[i]->flow = flow;
      ++matched_.collectives;
    }
  }

  void sayOther(const GroupCalls& group, const Call& first, const Call& other, std::size_t r,
                const char* rest) {
    if (++said_ > kMostSaid) return;
    job_.lacks.push_back("rank " + toString(group.ranks.front()) + " called " + first.name +
                         " where rank " + toString(group.ranks[r]) + " called " + other.name +
                         " in the process group '" + group.group->name +
                         "', so these are not matched" + rest);
  }

  void sayMissing(const GroupCalls& group, std::int64_t number, const Calls& calls) {
    if (++said_ > kMostSaid) return;
    job_.lacks.push_back("of collective " + std::to_string(number) + " (" + calls.front()->name +
                         ") of the process group '" + group.group->name + "', " +
                         describeCount(std::ssize(calls), "call") + " of " +
                         std::to_string(group.ranks.size()) + " ranks are in the files");
  }

  static std::string describeGroup(const GroupCalls& group) {
    return "the ranks of the process group '" + group.group->name + "'";
  }
  static std::string describeCounts(const GroupCalls& group) {
    const auto [least, most] =
        std::ranges::minmax(group.calls, {}, [](const Calls& calls) { return calls.size(); });
    return std::to_string(least.size()) + " to " + std::to_string(most.size()) + " collectives";
  }

  static constexpr int kMostSaid = 8;
  ProfiledJob& job_;
  Matched& matched_;
  std::uint64_t flow_ = 0;
  int said_ = 0;
};

}  // namespace

void matchCollectives(ProfiledJob& job, Matched& matched) {
  CollectiveMatch(job, matched).match();
}

}  // namespace ringscope::traces
