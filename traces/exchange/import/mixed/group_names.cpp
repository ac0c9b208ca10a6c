// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/mixed/group_names.h"

#include <algorithm>
#include <map>
#include <set>

namespace ringscope::traces {

void setWorldSize(ProfiledJob& job, std::int32_t size) {
  for (ProfiledRank& rank : job.ranks) {
    for (NamedGroup& group : rank.groups)
      if (group.name == "default_pg" && std::ssize(group.members) == rank.world_size)
        for (std::int32_t r = rank.world_size; r < size; ++r)
          group.members.push_back(WorldRank::of(r));
    rank.world_size = size;
  }
}

void takeMembers(const ProfiledJob& named, ProfiledJob& job) {
  for (ProfiledRank& rank : job.ranks)
    for (NamedGroup& group : rank.groups)
      for (const ProfiledRank& other : named.ranks)
        for (const NamedGroup& known : other.groups)
          if (known.name == group.name && std::ranges::count(known.members, rank.rank) > 0)
            group.members = known.members;
}

void renameGroups(const ProfiledJob& named, ProfiledJob& job) {
  std::map<std::vector<WorldRank>, std::set<std::string>> names, own;
  const auto collect = [](const ProfiledJob& from, auto& into) {
    for (const ProfiledRank& rank : from.ranks)
      for (const NamedGroup& group : rank.groups) into[group.members].insert(group.name);
  };
  collect(named, names);
  collect(job, own);
  for (ProfiledRank& rank : job.ranks)
    for (NamedGroup& group : rank.groups) {
      const auto found = names.find(group.members);
      if (found != names.end() && found->second.size() == 1 && own[group.members].size() == 1)
        group.name = *found->second.begin();
    }
}

}  // namespace ringscope::traces
