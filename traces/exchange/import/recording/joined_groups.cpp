// SPDX-License-Identifier: Apache-2.0
// The ranks that share a sequence where attention communicates within several groups.
#include <algorithm>
#include <numeric>

#include "traces/exchange/import/recording/called.h"
#include "traces/exchange/import/recording/job.h"

namespace ringscope::traces {
namespace {

/// Sets of ranks that are joined step by step.
class JoinedRanks {
 public:
  explicit JoinedRanks(std::size_t ranks) : set_(ranks) { std::iota(set_.begin(), set_.end(), 0); }

  void join(const std::vector<WorldRank>& members) {
    for (const WorldRank member : members) set_[find(member)] = find(members.front());
  }

  bool contains(const std::vector<WorldRank>& members) const {
    return std::ranges::all_of(members, [&](WorldRank rank) {
      return rank.value() >= 0 && static_cast<std::size_t>(rank.value()) < set_.size();
    });
  }

  /// Returns the ranks of a rank's set in their order.
  std::vector<WorldRank> with(WorldRank rank) {
    std::vector<WorldRank> members;
    for (std::size_t other = 0; other < set_.size(); ++other)
      if (const WorldRank own = WorldRank::of(static_cast<int>(other)); find(own) == find(rank))
        members.push_back(own);
    return members;
  }

 private:
  std::size_t find(WorldRank rank) {
    auto at = static_cast<std::size_t>(rank.value());
    while (set_[at] != at) at = set_[at] = set_[set_[at]];
    return at;
  }

  std::vector<std::size_t> set_;
};

/// Returns the names of the groups of recognised attention that communicates within several.
std::vector<std::string> groupsWithin(const Line& line) {
  return isRecognised(line) ? line.part("ring").texts("groups") : std::vector<std::string>();
}

/// Names the joined group in a line of attention. Seats are in the order of ranks.
Line named(const Line& line, const std::string& group, std::int64_t seat) {
  nlohmann::json json = line.json();
  json["ring"]["group"] = group;
  json["ring"]["rank"] = seat;
  return Line(json);
}

void nameGroup(RankLines& rank, JoinedRanks& joined) {
  const std::vector<WorldRank> members = joined.with(rank.rank);
  const auto seat = std::ranges::find(members, rank.rank) - members.begin();
  std::set<std::int64_t> calls;
  for (Line& line : rank.lines) {
    if (groupsWithin(line).empty()) continue;
    calls.insert(line.whole("call"));
    line = named(line, "joined", seat);
  }
  if (calls.empty()) return;
  rank.groups["joined"] = members;
  // A hop's number and owner count within one of the groups.
  std::erase_if(rank.lines, [&](const Line& line) {
    return line.kind() == "hop" && calls.contains(line.whole("call"));
  });
}

}  // namespace

void joinAttentionGroups(RecordedJob& job) {
  JoinedRanks joined(static_cast<std::size_t>(job.ranks.front().world_size));
  for (const RankLines& rank : job.ranks)
    for (const Line& line : rank.lines)
      for (const std::string& name : groupsWithin(line)) {
        const auto members = rank.findMembers(name);
        if (!joined.contains(members)) return;
        if (!members.empty()) joined.join(members);
      }
  for (RankLines& rank : job.ranks)
    if (joined.contains({rank.rank})) nameGroup(rank, joined);
}

}  // namespace ringscope::traces
