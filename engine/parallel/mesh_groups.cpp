// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel/mesh_groups.h"

#include <algorithm>
#include <sstream>

#include "engine/transport/local_backend.h"

namespace ringscope::engine {
namespace {

c10::intrusive_ptr<c10d::Backend> alone() {
  return c10::make_intrusive<LocalBackend>(GroupRank::of(0), 1, std::make_shared<LocalWorld>(1),
                                           std::chrono::milliseconds(1000));
}

}  // namespace

MeshGroups::MeshGroups(Transport& transport, const Mesh& mesh, WorldRank rank)
    : mesh_(mesh), place_(mesh.placeFor(rank)) {
  // Groups with the same members share a communicator, which has the name of the first of them in
  // this order.
  using traces::GroupAxis;
  cp_ = of(transport, GroupAxis::kCp, mesh.cpGroup(rank), rank);
  tp_ = of(transport, GroupAxis::kTp, mesh.tpGroup(rank), rank);
  dp_ = of(transport, GroupAxis::kDp, mesh.dpGroup(rank), rank);
  dp_cp_ = of(transport, GroupAxis::kDpCp, mesh.dpCpGroup(rank), rank);
  world_ = of(transport, GroupAxis::kWorld, mesh.ranks(), rank);
}

void MeshGroups::onCollective(
    const std::function<void(traces::GroupId, const CollectiveReport&)>& report) {
  for (const auto& [members, communicator] : made_)
    communicator->onCollective([report, group = communicator->group()](
                                   const CollectiveReport& of_group) { report(group, of_group); });
}

traces::GroupId MeshGroups::findId(traces::GroupAxis axis,
                                   const std::vector<WorldRank>& members) const {
  // Ids do not depend on how a cp group is divided further, because the parts have no communicators
  // of their own.
  for (const traces::GroupRecord& group : mesh_.groups(1))
    if (group.axis == axis && group.members.front() == members.front()) return group.id;
  return traces::GroupId::none();
}

std::shared_ptr<Communicator> MeshGroups::of(Transport& transport, traces::GroupAxis axis,
                                             const std::vector<WorldRank>& members,
                                             WorldRank rank) {
  auto& group = made_[members];
  if (group) return group;
  std::ostringstream name;
  for (const WorldRank member : members) name << "." << member.value();
  const auto mine =
      GroupRank::of(std::find(members.begin(), members.end(), rank) - members.begin());
  group = std::make_shared<Communicator>(
      members.size() == 1
          ? alone()
          : transport.makeBackend(name.str(), mine, static_cast<int>(members.size())),
      findId(axis, members), members);
  return group;
}

}  // namespace ringscope::engine
