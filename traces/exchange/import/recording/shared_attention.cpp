// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/recording/shared_attention.h"

#include <algorithm>
#include <set>

#include "traces/exchange/import/recording/tensor_lines.h"

namespace ringscope::traces {
namespace {

/// The hashes of the keys and values that a rank attends first, and of its queries.
struct FirstAttention {
  WorldRank rank;
  std::string keys, queries;
  std::int64_t shards = 0;  ///< whose keys these are; 0: not known
};

FirstAttention firstAttention(const RankLines& rank) {
  std::vector<std::string> problems;  // which others report
  const TensorLines lines(rank, problems);
  for (const Line& line : rank.lines) {
    if (line.kind() != "attention" || line.text("direction") != "forward") continue;
    const auto q = line.wholes("q_shape"), k = line.wholes("k_shape");
    if (line.has("ring") || q.size() != 4 || k.size() != 4 || q[2] < 2 || k[2] % q[2] != 0) break;
    const Line tensors = line.part("tensors");
    const auto hash = [&](const char* what) {
      const Line* tensor = lines.of(tensors.whole(what));
      return tensor ? tensor->text("hash") : std::string();
    };
    if (hash("k").empty() || hash("v").empty() || hash("q").empty()) break;
    return {rank.rank, hash("k") + "/" + hash("v"), hash("q"), k[2] / q[2]};
  }
  return {rank.rank, "", "", 0};
}

std::string nameOfGroup(RankLines& rank, const std::vector<WorldRank>& members) {
  for (const auto& [name, known] : rank.groups)
    if (known == members) return name;
  return rank.groups.emplace("shared keys", members).first->first;
}

}  // namespace

std::map<WorldRank, std::string> groupsBySharedKeys(RecordedJob& job) {
  std::map<std::string, std::vector<FirstAttention>> sharing;
  for (const RankLines& rank : job.ranks) {
    FirstAttention first = firstAttention(rank);
    if (first.shards > 1) sharing[first.keys].push_back(std::move(first));
  }
  std::map<WorldRank, std::string> groups;
  for (const auto& [keys, ranks] : sharing) {
    std::set<std::string> queries;
    std::vector<WorldRank> members;
    for (const FirstAttention& first : ranks) {
      queries.insert(first.queries);
      members.push_back(first.rank);
    }
    const std::int64_t shards = ranks.front().shards;
    const bool all = queries.size() == ranks.size() && shards == std::ssize(ranks);
    if (!all || std::ranges::any_of(ranks, [shards](const FirstAttention& first) {
          return first.shards != shards;
        }))
      continue;
    for (RankLines& rank : job.ranks)
      if (std::ranges::count(members, rank.rank) > 0)
        groups[rank.rank] = nameOfGroup(rank, members);
  }
  return groups;
}

}  // namespace ringscope::traces
