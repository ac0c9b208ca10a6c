// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "engine/gate/gate.h"
#include "engine/mistakes/seams.h"
#include "engine/observe/observer.h"
#include "engine/parallel/mesh_groups.h"
#include "engine/rank/run_switches.h"

namespace ringscope::engine {

/// The objects that one rank's code works with. Belongs to its rank's thread.
struct RankContext {
  MeshGroups& groups;
  Communicator& cp;
  Observer& observer;
  Gate& gate;
  Seams seams;
  /// Called before every gate; tests throw here.
  const std::function<void(WorldRank rank, const traces::Place&)>* at_gate = nullptr;
  GroupRank gate_rank = GroupRank::of(0);  ///< among the ranks that pass this process's gate
  RunSwitches* switches = nullptr;         ///< null: nothing changes during the run
  at::Device device = at::kCPU;
  traces::Place place;  ///< where this rank is, for error messages

  /// Waits until this rank's device has finished its queued work. Does nothing on a CPU.
  void finishDeviceWork() const;
  /// Returns this rank's number in the cp group.
  GroupRank rank() const { return cp.rank(); }
  WorldRank worldRank() const { return groups.worldRank(); }
  /// Reports whether this rank is the first of all ranks. That rank writes data that exists once
  /// per run.
  bool isFirstOfWorld() const { return worldRank() == WorldRank::of(0); }
  /// Returns the world rank of a rank of the cp group, as recordings name ranks; none for none.
  WorldRank worldRankFor(GroupRank cp_rank) const {
    const MeshPlace here = groups.place();
    return cp_rank.isNone() ? WorldRank::none()
                            : groups.mesh().rankFor({here.dp, here.tp, cp_rank});
  }
  /// Returns the place that a seam sees when this rank reaches it at `at`.
  SeamPlace seamPlace(const traces::Place& at, GroupRank source_rank = GroupRank::none()) const {
    return {groups.mesh(), groups.place(), at, source_rank};
  }
  /// Passes a stage border, where the control connection may hold the rank. With `hold`, also waits
  /// until `hold` returns false; see Gate::arrive.
  void arriveAt(const traces::Place& next, const std::function<bool()>& hold = {});
};

}  // namespace ringscope::engine
