// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "traces/exchange/import/flight_recorder/dump.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// The calls of the ranks of one group: by number, then by rank.
struct GroupStanding {
  std::map<std::int64_t, std::map<WorldRank, const DumpEntry*>> calls;
  std::map<WorldRank, std::int64_t> last;  ///< last number of each rank that has a dump
};

std::string listed(const std::vector<WorldRank>& ranks) {
  constexpr std::size_t kMost = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kMost); ++i)
    text += (i == 0 ? "" : ", ") + toString(ranks[i]);
  return text + (ranks.size() > kMost ? ", …" : "");
}

std::string callText(std::int64_t number, const DumpEntry& entry, const std::string& group) {
  return "collective " + std::to_string(number) + " (" + entry.call.name +
         ") of the process group '" + group + "'";
}

/// Returns where the first of the ranks whose dump has stacks called the collective.
std::string calledAt(const std::map<WorldRank, const DumpEntry*>& callers) {
  for (const auto& [rank, entry] : callers)
    if (!entry->where.empty()) return "; rank " + toString(rank) + " called it at " + entry->where;
  return "";
}

using Standings = std::map<std::pair<std::string, std::vector<WorldRank>>, GroupStanding>;

Standings standings(const std::vector<Dump>& dumps) {
  Standings all;
  for (const Dump& dump : dumps) {
    for (const NamedGroup& group : dump.rank.groups)
      all[{group.name, group.members}].last.try_emplace(dump.rank.rank, 0);
    for (const DumpEntry& entry : dump.entries) {
      if (entry.call.sequence < 0) continue;
      const NamedGroup& group = dump.rank.groups[static_cast<std::size_t>(entry.call.group)];
      GroupStanding& standing = all[{group.name, group.members}];
      standing.calls[entry.call.sequence][dump.rank.rank] = &entry;
      std::int64_t& last = standing.last[dump.rank.rank];
      last = std::max(last, entry.call.sequence);
    }
  }
  return all;
}

/// Describes the ranks that have not reached the last collective that others have called.
void addBehind(std::vector<std::string>& sentences, const std::string& group,
               const GroupStanding& standing) {
  if (standing.calls.empty()) return;
  const auto& [number, callers] = *standing.calls.rbegin();
  std::map<std::int64_t, std::vector<WorldRank>> behind;
  std::vector<WorldRank> there;
  for (const auto& [rank, last] : standing.last)
    (last < number ? behind[last] : there).push_back(rank);
  for (const auto& [last, ranks] : behind)
    sentences.push_back(
        listed(ranks) + " had not called " + callText(number, *callers.begin()->second, group) +
        ", which " + listed(there) + " had; " + (ranks.size() == 1 ? "its" : "their") +
        " last was " + (last > 0 ? std::to_string(last) : "none") + calledAt(callers));
}

/// Describes the first collective that a rank has called and not completed.
void addOpen(std::vector<std::string>& sentences, const std::string& group,
             const GroupStanding& standing) {
  for (const auto& numbered : standing.calls) {
    const std::int64_t number = numbered.first;
    const auto& callers = numbered.second;
    std::vector<WorldRank> waiting, given_up;
    for (const auto& [rank, entry] : callers)
      if (!entry->is_gloo && !entry->call.completes)
        (entry->timed_out ? given_up : waiting).push_back(rank);
    if (waiting.empty() && given_up.empty()) continue;
    const auto describe = [&](const std::string& what, const std::vector<WorldRank>& ranks) {
      if (!ranks.empty())
        sentences.push_back(callText(number, *callers.begin()->second, group) + what +
                            listed(ranks) + calledAt(callers));
    };
    describe(" was not complete on ", waiting);
    describe(" timed out on ", given_up);
    return;
  }
}

}  // namespace

std::vector<std::string> describeStanding(const std::vector<Dump>& dumps) {
  std::vector<std::string> sentences;
  constexpr std::size_t kMost = 16;
  for (const auto& [group, standing] : standings(dumps)) {
    if (sentences.size() >= kMost) break;
    addBehind(sentences, group.first, standing);
    addOpen(sentences, group.first, standing);
  }
  return sentences;
}

}  // namespace ringscope::traces
