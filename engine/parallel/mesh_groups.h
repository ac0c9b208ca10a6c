// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "engine/parallel/mesh.h"
#include "engine/transport/communicator.h"
#include "engine/transport/transport.h"

namespace ringscope::engine {

/// One rank's communicators. Groups with the same members share one; a group of one rank needs no
/// transport. Belongs to its rank's thread.
class MeshGroups {
 public:
  /// Every rank of the mesh makes its own, at the same time.
  MeshGroups(Transport& transport, const Mesh& mesh, int rank);

  Communicator& world() { return *world_; }
  Communicator& dp() { return *dp_; }
  Communicator& tp() { return *tp_; }
  Communicator& cp() { return *cp_; }
  Communicator& dpCp() { return *dp_cp_; }
  const Mesh& mesh() const { return mesh_; }
  MeshPlace place() const { return place_; }

 private:
  std::shared_ptr<Communicator> of(Transport& transport, const std::vector<int>& members, int rank);

  Mesh mesh_;
  MeshPlace place_;
  std::map<std::vector<int>, std::shared_ptr<Communicator>> made_;
  std::shared_ptr<Communicator> world_, dp_, tp_, cp_, dp_cp_;
};

}  // namespace ringscope::engine
