// SPDX-License-Identifier: Apache-2.0
// Parameters of one name that differ between ranks before the first step.
#include "traces/format/trace/own_parameters.h"

#include "traces/exchange/import/recording/job.h"

namespace ringscope::traces {
namespace {

/// From this share of all names on, ranks began with other weights, and own no parameters.
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

}  // namespace

void addOwnParameters(RecordedJob& job) {
  std::map<WorldRank, Hashes> hashes;
  for (const RankLines& rank : job.ranks) hashes[rank.rank] = readHashes(rank);
  OwnParameters own;
  for (const GroupRecord& group : job.groups) {
    if (group.axis != GroupAxis::kCp && group.axis != GroupAxis::kDpCp) continue;
    const Hashes& first = hashes[group.members.front()];
    std::set<std::string> names;
    for (const WorldRank rank : group.members) names.merge(differingNames(first, hashes[rank]));
    const bool began_unlike =
        static_cast<double>(names.size()) > kMostOwn * static_cast<double>(first.size());
    if (group.axis == GroupAxis::kDpCp)
      own.unlike_groups = own.unlike_groups || !names.empty();
    else if (!began_unlike)
      own.names.merge(withModules(names, first));
  }
  // Ranks that began with other weights by mistake are unlike within their cp group too.
  const bool within = std::ranges::any_of(job.groups, [&](const GroupRecord& group) {
    return group.axis == GroupAxis::kCp && group.members.size() > 1 &&
           std::ranges::any_of(group.members, [&](WorldRank rank) {
             return !differingNames(hashes[group.members.front()], hashes[rank]).empty();
           });
  });
  own.unlike_groups = own.unlike_groups && !within;
  if (own.names.empty() && !own.unlike_groups) return;
  job.notes.push_back({kOwnParametersNote, toJson(own).dump()});
}

}  // namespace ringscope::traces
