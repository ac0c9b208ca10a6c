// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel/mesh_groups.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "engine/transport/local_backend.h"

namespace ringscope::engine {
namespace {

std::vector<int> everyRank(const Mesh& mesh) {
  std::vector<int> ranks(static_cast<std::size_t>(mesh.worldSize()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

c10::intrusive_ptr<c10d::Backend> alone() {
  return c10::make_intrusive<LocalBackend>(0, 1, std::make_shared<LocalWorld>(1),
                                           std::chrono::milliseconds(1000));
}

}  // namespace

MeshGroups::MeshGroups(Transport& transport, const Mesh& mesh, int rank)
    : mesh_(mesh), place_(mesh.placeOf(rank)) {
  world_ = of(transport, everyRank(mesh), rank);
  dp_ = of(transport, mesh.dpGroup(rank), rank);
  tp_ = of(transport, mesh.tpGroup(rank), rank);
  cp_ = of(transport, mesh.cpGroup(rank), rank);
  dp_cp_ = of(transport, mesh.dpCpGroup(rank), rank);
}

std::shared_ptr<Communicator> MeshGroups::of(Transport& transport, const std::vector<int>& members,
                                             int rank) {
  auto& group = made_[members];
  if (group) return group;
  std::ostringstream name;
  for (const int member : members) name << "." << member;
  const auto mine =
      static_cast<int>(std::find(members.begin(), members.end(), rank) - members.begin());
  group = std::make_shared<Communicator>(
      members.size() == 1
          ? alone()
          : transport.backendOf(name.str(), mine, static_cast<int>(members.size())));
  return group;
}

}  // namespace ringscope::engine
