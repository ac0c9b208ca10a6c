// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "engine/gate/gate.h"
#include "engine/mistakes/seams.h"
#include "engine/observe/observer.h"
#include "engine/parallel/mesh_groups.h"
#include "engine/rank/run_switches.h"

namespace ringscope::engine {

/// What one rank's code works with. Belongs to its rank's thread.
struct RankContext {
  MeshGroups& groups;
  Communicator& cp;
  Observer& observer;
  Gate& gate;
  Seams seams;
  /// Called at every gate, before it; tests throw here.
  const std::function<void(WorldRank rank, const traces::Place&)>* at_gate = nullptr;
  GroupRank gate_rank = GroupRank::of(0);  ///< of the ranks that pass this process's gate
  RunSwitches* switches = nullptr;         ///< null: nothing changes while the run goes on
  at::Device device = at::kCPU;
  traces::Place place;  ///< where this rank is, for errors

  /// Until what this rank has given its device to do is done; a CPU has done it already.
  void finishDeviceWork() const;
  /// In the cp group.
  GroupRank rank() const { return cp.rank(); }
  WorldRank worldRank() const { return groups.worldRank(); }
  /// Who of all ranks writes what there is once.
  bool isFirstOfWorld() const { return worldRank() == WorldRank::of(0); }
  /// The world rank of a rank of the cp group, as recordings name ranks; none for none.
  WorldRank worldOf(GroupRank cp_rank) const {
    const MeshPlace here = groups.place();
    return cp_rank.isNone() ? WorldRank::none() : groups.mesh().rankOf({here.dp, here.tp, cp_rank});
  }
  /// What a seam sees that this rank reaches there.
  SeamPlace seamPlace(const traces::Place& at, GroupRank source_rank = GroupRank::none()) const {
    return {groups.mesh(), groups.place(), at, source_rank};
  }
  /// A stage border: the control connection may hold the rank here.
  /// With `hold`, also waits until that is false; see Gate::arrive.
  void arriveAt(const traces::Place& next, const std::function<bool()>& hold = {});
};

}  // namespace ringscope::engine
