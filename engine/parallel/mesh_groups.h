// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "engine/plan.h"
#include "engine/transport/communicator.h"
#include "engine/transport/transport.h"

namespace ringscope::engine {

/// One rank's communicators. Groups with the same members share a communicator, and a group of one
/// rank needs no transport. Belongs to its rank's thread.
class MeshGroups {
 public:
  /// Makes the communicators. Every rank of the mesh must make its own at the same time.
  MeshGroups(Transport& transport, const Mesh& mesh, WorldRank rank);

  /// Sets a function that the rank's thread calls after every collective of every group.
  void onCollective(
      const std::function<void(traces::GroupId group, const CollectiveReport&)>& report);

  Communicator& world() { return *world_; }
  Communicator& dp() { return *dp_; }
  Communicator& tp() { return *tp_; }
  Communicator& cp() { return *cp_; }
  Communicator& dpCp() { return *dp_cp_; }
  const Mesh& mesh() const { return mesh_; }
  MeshPlace place() const { return place_; }
  WorldRank worldRank() const { return mesh_.rankFor(place_); }

 private:
  std::shared_ptr<Communicator> of(Transport& transport, traces::GroupAxis axis,
                                   const std::vector<WorldRank>& members, WorldRank rank);

  traces::GroupId findId(traces::GroupAxis axis, const std::vector<WorldRank>& members) const;

  Mesh mesh_;
  MeshPlace place_;
  std::map<std::vector<WorldRank>, std::shared_ptr<Communicator>> made_;
  std::shared_ptr<Communicator> world_, dp_, tp_, cp_, dp_cp_;
};

}  // namespace ringscope::engine
