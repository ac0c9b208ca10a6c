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
  /// The balance in which ranks gathered the whole, by its name; empty: the job cut a variable.
  std::map<std::string, std::string> gathered_in;
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
      group.gathered_in[line.text("of")] = line.text("gathered_in");
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
  const BufferNames names(rank);
  const auto found = std::ranges::find_if(rank.lines, [&](const Line& line) {
    return line.kind() == "buffer" && names.nameFor(line) == "input_ids" &&
           line.wholes("full_shape").size() == 2 && line.has("tokens") &&
           line.place(Direction::kForward).train_step == step;
  });
  return found == rank.lines.end() ? nullptr : &*found;
}

std::vector<TokenRun> runsIn(const Line& buffer) {
  std::vector<TokenRun> runs;
  for (const auto& [begin, end] : buffer.pairs("tokens")) runs.push_back({begin, end});
  return runs;
}

/// Writes the tokens of the parts of each variable of a group, if they decide.
class PartsWriter {
 public:
  PartsWriter(std::int32_t step, const Group& group) : step_(step), group_(group) {}

  void write() {
    if (!readIds()) return;
    for (const auto& [whole, parts] : group_.wholes) {
      const std::string& gathered_in = group_.gathered_in.at(whole);
      if (!gathered_in.empty() && gathered_in != own_) continue;
      std::map<std::string, Names> balances;
      for (const auto& [name, by_rank] : parts) balances[name] = common(group_, by_rank);
      const bool has_right = std::ranges::any_of(
          balances, [&](const auto& part) { return part.second.contains(own_); });
      for (const auto& [name, found] : balances) {
        // A part in another order may be left over from before the cut that the job uses.
        if (found.contains(own_))
          add(name, own_);
        else if (!has_right && !found.empty())
          add(name, *found.begin());
      }
    }
  }

 private:
  /// Reads the lines of the token ids and the balance that deals them. Returns false when the ids
  /// of a rank are not known, or no balance deals them so.
  bool readIds() {
    std::vector<DealtShard> shards;
    for (const WorldRank member : group_.members) {
      const auto rank = group_.ranks.find(member);
      const Line* ids = rank == group_.ranks.end() ? nullptr : idsOf(*rank->second, step_);
      if (!ids) return false;
      shards.push_back({GroupRank::of(static_cast<std::int32_t>(shards.size())), runsIn(*ids)});
      ids_.push_back(ids->json());
    }
    const auto shape = Line(ids_.front()).wholes("full_shape");
    if (shape.size() != 2) return false;
    const auto size = static_cast<std::int32_t>(shards.size());
    layouts_ = sequenceLayouts(shape[1], size);
    const auto own = findBalance(shape[1], size, shards);
    if (own) own_ = name(*own);
    return own.has_value();
  }

  /// Reports whether context_parallel cut a buffer of this name.
  bool isBuffer(const std::string& name) const {
    return std::ranges::any_of(group_.ranks.begin()->second->lines, [&](const Line& line) {
      return line.kind() == "buffer" && line.text("named_by") == "variable" &&
             line.text("name") == name;
    });
  }

  void add(const std::string& buffer, const std::string& balance) {
    for (const ShardLayout& layout : layouts_) {
      if (name(layout.balance()) != balance) continue;
      for (std::size_t seat = 0; seat < ids_.size(); ++seat) {
        nlohmann::json line = ids_[seat];
        line.erase("shard");
        line["name"] = isBuffer(buffer) ? buffer + " (variable)" : buffer;
        line["tokens"] = nlohmann::json::array();
        for (const TokenRun& run :
             joinedInOrder(layout.runs(GroupRank::of(static_cast<std::int32_t>(seat)))))
          line["tokens"].push_back({run.begin, run.end});
        group_.ranks.at(group_.members[seat])->lines.emplace_back(line);
      }
      return;
    }
  }

  std::int32_t step_;
  const Group& group_;
  std::vector<nlohmann::json> ids_;  ///< the lines of the members' token ids
  std::vector<ShardLayout> layouts_;
  std::string own_;
};

}  // namespace

void addCutVariables(RecordedJob& job) {
  for (const auto& [at, group] : groupsOf(job)) PartsWriter(at.first, group).write();
}

}  // namespace ringscope::traces
