// SPDX-License-Identifier: Apache-2.0
// The tokens of variables that a job cut by itself, beside the token ids.
#include <algorithm>

#include "traces/exchange/import/recording/job.h"
#include "traces/format/schema/token_runs.h"
#include "traces/plan/balance.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {
namespace {

using Names = std::set<std::string>;

/// The balances by which each rank's part of one variable was cut, by the name of the part.
using Parts = std::map<std::string, std::map<WorldRank, Names>>;

struct Group {
  std::vector<WorldRank> members;
  std::map<WorldRank, RankLines*> ranks;
  std::map<std::string, Parts> wholes;  ///< by the name of the variable that was cut
};

Names balancesOf(const Line& line) {
  const auto texts = line.texts("balances");
  return {texts.begin(), texts.end()};
}

/// Reads the first microbatch of a training step.
std::map<std::pair<std::int32_t, std::vector<WorldRank>>, Group> groupsOf(RecordedJob& job) {
  std::map<std::pair<std::int32_t, std::vector<WorldRank>>, Group> groups;
  for (RankLines& rank : job.ranks)
    for (const Line& line : rank.lines) {
      if (line.kind() != "cut_variable" || line.microbatch() != 0) continue;
      auto members = rank.findMembers(line.text("group"));
      if (members.size() < 2) continue;
      const auto step = line.place(Direction::kForward).train_step;
      Group& group = groups[{step, members}];
      group.members = std::move(members);
      group.ranks[rank.rank] = &rank;
      group.wholes[line.text("of")][line.text("name")][rank.rank].merge(balancesOf(line));
    }
  return groups;
}

/// Returns the balances that all ranks of a group have for a part.
Names common(const Group& group, const std::map<WorldRank, Names>& by_rank) {
  if (by_rank.size() != group.members.size()) return {};
  Names all = by_rank.begin()->second;
  for (const auto& own : by_rank)
    std::erase_if(all, [&](const std::string& name) { return !own.second.contains(name); });
  return all;
}

/// Returns the line of a rank's token ids in a training step, or null.
const Line* idsOf(const RankLines& rank, std::int32_t step) {
  const auto found = std::ranges::find_if(rank.lines, [&](const Line& line) {
    return line.kind() == "buffer" && line.text("name") == "input_ids" &&
           line.text("named_by") == "recognition" &&
           line.place(Direction::kForward).train_step == step;
  });
  return found == rank.lines.end() ? nullptr : &*found;
}

std::vector<std::pair<std::int64_t, std::int64_t>> pairsOf(const std::vector<TokenRun>& runs) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const TokenRun& run : joinedInOrder(runs)) pairs.emplace_back(run.begin, run.end);
  return pairs;
}

/// Writes the tokens of the parts of each variable of a group, if they decide.
class PartsWriter {
 public:
  PartsWriter(std::int32_t step, Group& group) : step_(step), group_(group) {}

  void write() {
    if (!readLayouts()) return;
    for (const auto& [whole, parts] : group_.wholes) {
      const bool has_right = std::ranges::any_of(
          parts, [&](const auto& part) { return common(group_, part.second).contains(own_); });
      for (const auto& [name, by_rank] : parts) {
        const Names balances = common(group_, by_rank);
        // A part in another order may be left over from before the cut that the job uses.
        if (balances.contains(own_))
          add(name, own_);
        else if (!has_right && !balances.empty())
          add(name, *balances.begin());
      }
    }
  }

 private:
  /// Reads the layouts of the group's sequence, and the balance of its token ids.
  bool readLayouts() {
    const auto size = static_cast<std::int32_t>(group_.members.size());
    if (group_.ranks.size() != group_.members.size()) return false;
    const Line* first = idsOf(*group_.ranks.at(group_.members.front()), step_);
    const auto shape = first ? first->wholes("full_shape") : std::vector<std::int64_t>();
    if (shape.size() != 2) return false;
    layouts_ = sequenceLayouts(shape[1], size);
    for (const ShardLayout& layout : layouts_)
      if (isOfIds(layout)) own_ = name(layout.balance());
    return !own_.empty();
  }

  bool isOfIds(const ShardLayout& layout) const {
    for (std::int32_t seat = 0; seat < layout.cpSize(); ++seat) {
      const WorldRank member = group_.members[static_cast<std::size_t>(seat)];
      const Line* ids = idsOf(*group_.ranks.at(member), step_);
      if (!ids || ids->pairs("tokens") != pairsOf(layout.runs(GroupRank::of(seat)))) return false;
    }
    return true;
  }

  void add(const std::string& buffer, const std::string& balance) {
    for (const ShardLayout& layout : layouts_) {
      if (name(layout.balance()) != balance) continue;
      for (std::int32_t seat = 0; seat < layout.cpSize(); ++seat) {
        RankLines& rank = *group_.ranks.at(group_.members[static_cast<std::size_t>(seat)]);
        nlohmann::json line = idsOf(rank, step_)->json();
        line.erase("shard");
        line["name"] = buffer;
        line["tokens"] = pairsOf(layout.runs(GroupRank::of(seat)));
        rank.lines.emplace_back(line);
      }
      return;
    }
  }

  std::int32_t step_;
  Group& group_;
  std::vector<ShardLayout> layouts_;
  std::string own_;
};

}  // namespace

void addCutVariables(RecordedJob& job) {
  for (auto& [at, group] : groupsOf(job)) PartsWriter(at.first, group).write();
}

}  // namespace ringscope::traces
