// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include "traces/exchange/import/recording/job.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

/// The position of a rank: its index on each axis of the mesh.
struct Seat {
  WorldRank rank;
  std::vector<std::size_t> at;
};

/// Collects the ranks of nested lists. Returns false when they are no mesh of ranks.
bool collect(const nlohmann::json& ranks, std::vector<std::size_t>& at, std::vector<Seat>& seats) {
  if (ranks.is_number_integer()) {
    const auto rank = ranks.get<std::int64_t>();
    if (rank < 0 || rank >= kMaxRanks || seats.size() >= kMaxRanks) return false;
    seats.push_back({WorldRank::of(rank), at});
    return true;
  }
  if (!ranks.is_array() || ranks.empty() || at.size() >= 8) return false;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    at.push_back(i);
    if (!collect(ranks[i], at, seats)) return false;
    at.pop_back();
  }
  return true;
}

enum class Axis { kDp, kTp, kCp };

/// Returns the axes of a mesh: cp is the axis that was passed to context_parallel, and tp is
/// recognised by its usual name.
std::vector<Axis> axesOf(const Line& mesh, std::size_t dimensions) {
  const auto names = mesh.texts("axes"), cp = mesh.texts("cp_axes");
  std::vector<Axis> axes(dimensions, names.empty() ? Axis::kCp : Axis::kDp);
  for (std::size_t i = 0; i < names.size() && i < dimensions; ++i)
    if (std::ranges::find(cp, names[i]) != cp.end())
      axes[i] = Axis::kCp;
    else if (names[i] == "tp")
      axes[i] = Axis::kTp;
  return axes;
}

/// Adds groups of ranks whose indices agree on every axis except those that `shared` names.
void addGroups(RecordedJob& job, const std::vector<Seat>& seats, const std::vector<Axis>& axes,
               GroupAxis kind, const std::function<bool(Axis)>& shared) {
  std::map<std::vector<std::size_t>, std::vector<WorldRank>> members;
  for (const Seat& seat : seats) {
    std::vector<std::size_t> fixed;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (!shared(axes[i])) fixed.push_back(seat.at[i]);
    members[fixed].push_back(seat.rank);
  }
  for (auto& [fixed, ranks] : members)
    job.groups.push_back({GroupId::of(job.groups.size()), kind, std::move(ranks)});
}

std::int32_t axisSize(const RecordedJob& job, GroupAxis axis) {
  const auto found = std::ranges::find(job.groups, axis, &GroupRecord::axis);
  return found == job.groups.end() ? 1 : static_cast<std::int32_t>(found->members.size());
}

bool isUniform(const std::vector<Seat>& seats) {
  return !seats.empty() && std::ranges::all_of(seats, [&](const Seat& seat) {
    return seat.at.size() == seats.front().at.size();
  });
}

struct Mesh {
  std::vector<Seat> seats;
  std::vector<Axis> axes;
};

/// Returns the mesh whose axis was passed to context_parallel.
Mesh recordedMesh(const RankLines& rank) {
  for (const Line& line : rank.lines) {
    if (line.kind() != "mesh" || !line.has("ranks")) continue;
    std::vector<std::size_t> at;
    Mesh mesh;
    const nlohmann::json all = line.json();
    if (!collect(all["ranks"], at, mesh.seats) || !isUniform(mesh.seats)) continue;
    mesh.axes = axesOf(line, mesh.seats.front().at.size());
    return mesh;
  }
  return {};
}

/// Returns the ranks of the group that a line of a buffer or an attention names.
std::vector<WorldRank> membersOn(const RankLines& rank, const Line& line) {
  return rank.findMembers(line.has("ring") ? line.part("ring").text("group") : line.text("group"));
}

/// Returns the ranks with which a rank shares its sequence: from its annotated buffers, or else
/// from its attention.
std::vector<WorldRank> cpMembers(const RankLines& rank) {
  for (const char* kind : {"buffer", "attention"})
    for (const Line& line : rank.lines) {
      if (line.kind() != kind) continue;
      auto members = membersOn(rank, line);
      if (!members.empty()) return members;
    }
  return {};
}

/// Returns the hash of the token ids that a rank embedded first; empty: it is not recorded.
std::string firstIds(const RankLines& rank) {
  std::int64_t id = -1;
  for (const Line& line : rank.lines)
    if (id < 0 && line.kind() == "embedding") id = line.whole("ids");
  for (const Line& line : rank.lines)
    if (id >= 0 && line.kind() == "tensor" && line.whole("id") == id) return line.text("hash");
  return "";
}

/// Reports whether two ranks have different gradients of one name, as ranks do that hold parts of
/// the weights.
bool differInGradients(const RankLines& one, const RankLines& other) {
  std::map<std::string, std::string> hashes;
  for (const Line& line : one.lines)
    if (line.kind() == "tensor" && line.text("what") == "grad")
      hashes.try_emplace(line.text("name"), line.text("hash"));
  return std::ranges::any_of(other.lines, [&](const Line& line) {
    if (line.kind() != "tensor" || line.text("what") != "grad") return false;
    const auto same = hashes.find(line.text("name"));
    return same != hashes.end() && same->second != line.text("hash");
  });
}

const RankLines* findRank(const RecordedJob& job, WorldRank rank) {
  const auto found = std::ranges::find(job.ranks, rank, &RankLines::rank);
  return found == job.ranks.end() ? nullptr : &*found;
}

/// Reports whether two cp groups train on the same tokens with different parts of the weights.
bool shareTokens(const RecordedJob& job, const std::vector<WorldRank>& one,
                 const std::vector<WorldRank>& other) {
  const RankLines *first = findRank(job, one.front()), *second = findRank(job, other.front());
  if (!first || !second || firstIds(*first).empty()) return false;
  return firstIds(*first) == firstIds(*second) && differInGradients(*first, *second);
}

/// Returns the mesh of a job without a recorded one. The process groups of attention are cp groups.
/// Groups that train on the same tokens with different weights are tp, and others dp.
Mesh meshOfGroups(const RecordedJob& job) {
  std::set<std::vector<WorldRank>> groups;
  for (const RankLines& rank : job.ranks)
    if (auto members = cpMembers(rank); !members.empty()) groups.insert(std::move(members));
  std::vector<std::vector<std::vector<WorldRank>>> replicas;
  for (const auto& members : groups) {
    if (members.size() != groups.begin()->size()) return {};
    const auto same = std::ranges::find_if(
        replicas, [&](const auto& replica) { return shareTokens(job, replica.front(), members); });
    if (same == replicas.end())
      replicas.push_back({members});
    else
      same->push_back(members);
  }
  Mesh mesh{{}, {Axis::kDp, Axis::kCp, Axis::kTp}};
  for (std::size_t dp = 0; dp < replicas.size(); ++dp) {
    if (replicas[dp].size() != replicas.front().size()) return {};
    for (std::size_t tp = 0; tp < replicas[dp].size(); ++tp)
      for (std::size_t seat = 0; seat < replicas[dp][tp].size(); ++seat)
        mesh.seats.push_back({replicas[dp][tp][seat], {dp, seat, tp}});
  }
  return mesh;
}

/// Returns the groups within which a rank shares the sequence of each microbatch with attention. A
/// rank that shares it with none is alone.
std::map<StepMicrobatch, std::set<std::vector<WorldRank>>> groupsByMicrobatch(
    const RankLines& rank) {
  std::map<StepMicrobatch, std::set<std::vector<WorldRank>>> groups;
  for (const Line& line : rank.lines) {
    if (line.kind() != "attention") continue;
    const std::int32_t step = line.place(Direction::kForward).train_step;
    auto& found = groups[{step, line.microbatch()}];
    auto members = membersOn(rank, line);
    if (members.size() > 1) found.insert(std::move(members));
  }
  return groups;
}

/// Reports whether a rank shares the sequences of different microbatches with different ranks
/// (dynamic context parallelism).
bool changesGroups(const RankLines& rank) {
  const auto groups = groupsByMicrobatch(rank);
  return std::ranges::any_of(
      groups, [&](const auto& found) { return found.second != groups.begin()->second; });
}

/// Reports whether each rank from 0 on occurs exactly once.
bool isSound(const Mesh& mesh) {
  std::set<WorldRank> ranks;
  for (const Seat& seat : mesh.seats) ranks.insert(seat.rank);
  return !ranks.empty() && ranks.size() == mesh.seats.size() && ranks.begin()->exists() &&
         ranks.rbegin()->value() < kMaxRanks;
}

/// Adds the groups of each microbatch. Leaves out a group if one of its members shares a sequence
/// of the microbatch with other ranks too.
void addMicrobatchGroups(RecordedJob& job) {
  using Group = std::vector<WorldRank>;
  std::map<StepMicrobatch, std::map<Group, std::size_t>> members_seen;
  std::map<Group, std::vector<StepMicrobatch>> microbatches;
  for (const RankLines& rank : job.ranks)
    for (const auto& [at, groups] : groupsByMicrobatch(rank))
      if (groups.empty())
        ++members_seen[at][{rank.rank}];
      else if (groups.size() == 1)
        ++members_seen[at][*groups.begin()];
  for (const auto& [at, groups] : members_seen)
    for (const auto& [members, seen] : groups)
      if (seen == members.size()) microbatches[members].push_back(at);
  for (auto& [members, at] : microbatches)
    job.microbatch_groups.push_back({GroupId::of(job.groups.size() + job.microbatch_groups.size()),
                                     GroupAxis::kCp, members, std::move(at)});
}

}  // namespace

void addMesh(RecordedJob& job) {
  Mesh mesh = recordedMesh(job.ranks.front());
  if (mesh.seats.empty()) mesh = meshOfGroups(job);
  job.changes_groups = std::ranges::any_of(job.ranks, changesGroups);
  if (job.changes_groups || !isSound(mesh)) {
    job.lacks.emplace_back(
        job.changes_groups
            ? "ranks share the sequences of different microbatches with different ranks "
              "(dynamic context parallelism); attention is judged in each microbatch, and "
              "nothing is judged that needs one context-parallel group for all microbatches"
            : "no mesh was recorded, so which ranks share a sequence is not known: "
              "context_parallel was not entered while the recorder ran, and "
              "ringscope.buffer() and ringscope.attention() named no groups that fit together");
    if (job.changes_groups) addMicrobatchGroups(job);
    // Without a known context-parallel group no rank is taken to share a sequence with another.
    job.run.cp = job.run.tp = 1;
    job.run.dp = static_cast<std::int32_t>(job.ranks.size());
    return;
  }
  const auto& [seats, axes] = mesh;
  addGroups(job, seats, axes, GroupAxis::kWorld, [](Axis) { return true; });
  addGroups(job, seats, axes, GroupAxis::kDp, [](Axis axis) { return axis == Axis::kDp; });
  addGroups(job, seats, axes, GroupAxis::kTp, [](Axis axis) { return axis == Axis::kTp; });
  addGroups(job, seats, axes, GroupAxis::kCp, [](Axis axis) { return axis == Axis::kCp; });
  addGroups(job, seats, axes, GroupAxis::kDpCp, [](Axis axis) { return axis != Axis::kTp; });
  job.run.dp = axisSize(job, GroupAxis::kDp);
  job.run.tp = axisSize(job, GroupAxis::kTp);
  job.run.cp = axisSize(job, GroupAxis::kCp);
}

}  // namespace ringscope::traces
