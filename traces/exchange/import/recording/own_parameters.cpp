// SPDX-License-Identifier: Apache-2.0
// Parameters of one name that differ between ranks before the first step.
#include "traces/format/trace/own_parameters.h"

#include <algorithm>

#include "traces/exchange/import/recording/job.h"

namespace ringscope::traces {
namespace {

/// From this share of all random parameters on, ranks began with other weights, and own none.
constexpr double kMostOwn = 0.8;

using Hashes = std::map<std::string, std::string>;  ///< by the name of the parameter

Hashes readHashes(const RankLines& rank) {
  Hashes hashes;
  for (const Line& line : rank.lines) {
    if (line.kind() != "beginnings") continue;
    const nlohmann::json all = line.json();
    const auto found = all.find("hashes");
    if (found == all.end() || !found->is_object()) continue;
    for (const auto& [name, hash] : found->items())
      if (hash.is_string()) hashes.emplace(name, hash.get<std::string>());
  }
  return hashes;
}

std::set<std::string> differingNames(const Hashes& one, const Hashes& other) {
  std::set<std::string> names;
  for (const auto& [name, hash] : one) {
    const auto same = other.find(name);
    if (same != other.end() && same->second != hash) names.insert(name);
  }
  return names;
}

std::string moduleOf(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind('.') + 1);
}

/// Adds the other parameters of the same modules: a norm of ones is the same on every rank.
std::set<std::string> withModules(const std::set<std::string>& names, const Hashes& all) {
  std::set<std::string> modules, whole = names;
  for (const std::string& name : names) modules.insert(moduleOf(name));
  modules.erase("");
  for (const auto& [name, hash] : all)
    if (modules.contains(moduleOf(name))) whole.insert(name);
  return whole;
}

/// Returns the names of the parameters with which the members of a group began unlike.
std::set<std::string> differingNames(std::map<WorldRank, Hashes>& hashes,
                                     const GroupRecord& group) {
  std::set<std::string> names;
  for (const WorldRank rank : group.members)
    names.merge(differingNames(hashes[group.members.front()], hashes[rank]));
  return names;
}

/// Returns the number of parameters whose contents no other parameter of the rank has. The others
/// begin with ones or zeros, which are the same on every rank.
std::int64_t countRandom(const Hashes& all) {
  std::map<std::string, int> uses;
  for (const auto& [name, hash] : all) ++uses[hash];
  return std::ranges::count_if(all, [&](const auto& one) { return uses[one.second] == 1; });
}

}  // namespace

void addOwnParameters(RecordedJob& job) {
  std::map<WorldRank, Hashes> hashes;
  for (const RankLines& rank : job.ranks) hashes[rank.rank] = readHashes(rank);
  OwnParameters own;
  bool within_groups = false;
  for (const GroupRecord& group : job.groups) {
    if (group.axis != GroupAxis::kCp && group.axis != GroupAxis::kDpCp) continue;
    const auto names = differingNames(hashes, group);
    if (names.empty()) continue;
    if (group.axis == GroupAxis::kDpCp) {
      own.unlike_groups = true;
      continue;
    }
    within_groups = true;
    const Hashes& all = hashes[group.members.front()];
    if (static_cast<double>(names.size()) <= kMostOwn * static_cast<double>(countRandom(all)))
      own.names.merge(withModules(names, all));
  }
  // Ranks that began with other weights by mistake are unlike within their cp group too.
  own.unlike_groups = own.unlike_groups && !within_groups;
  if (own.names.empty() && !own.unlike_groups) return;
  job.notes.push_back({kOwnParametersNote, toJson(own).dump()});
}

}  // namespace ringscope::traces
