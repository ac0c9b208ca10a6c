// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "engine/control/gate.h"
#include "engine/control/run_switches.h"
#include "engine/mistakes/seams.h"
#include "engine/observe/observer.h"
#include "engine/parallel/mesh_groups.h"

namespace ringscope::engine {

/// What one rank's code works with. Belongs to its rank's thread.
struct RankContext {
  MeshGroups& groups;
  Communicator& cp;
  Observer& observer;
  Gate& gate;
  Seams seams;
  /// Called at every gate, before it; tests throw here.
  const std::function<void(int rank, const traces::Place&)>* at_gate = nullptr;
  int gate_rank = 0;                ///< of the ranks that pass this process's gate
  RunSwitches* switches = nullptr;  ///< null: nothing changes while the run goes on
  at::Device device = at::kCPU;
  traces::Place place;  ///< where this rank is, for errors

  /// Until what this rank has given its device to do is done; a CPU has done it already.
  void finishDeviceWork() const;
  /// In the cp group.
  int rank() const { return cp.rank(); }
  int worldRank() const { return groups.world().rank(); }
  /// A stage border: the control connection may hold the rank here.
  /// With `hold`, also waits until that is false; see Gate::arrive.
  void arriveAt(const traces::Place& next, const std::function<bool()>& hold = {});
};

}  // namespace ringscope::engine
