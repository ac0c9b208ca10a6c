// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "engine/gate/gate.h"
#include "engine/observe/observer.h"
#include "engine/rank/rank_context.h"
#include "engine/transport/transport.h"

namespace ringscope::engine {

/// The options that the rank threads of one run share.
struct RankThreadOptions {
  Mesh mesh;
  std::chrono::milliseconds timeout{60'000};
  traces::TransportKind transport = traces::TransportKind::kLocal;
  traces::Device device = traces::Device::kCpu;
  traces::Recorder* recorder = nullptr;  ///< of all ranks; null: no recording
  CapturePolicy capture;
  std::shared_ptr<MemoryTracker> memory;  ///< null: memory is not tracked
  LiveTensors* live = nullptr;
  RunSwitches* switches = nullptr;  ///< null: a correct run with constant capture
  const std::function<void(WorldRank, const traces::Place&)>* at_gate = nullptr;
  /// Called once, from another thread, if a stuck rank thread does not end on request. Only the end
  /// of the process can end such a thread. The argument is the sentence that names it.
  std::function<void(const std::string&)> on_stuck;
};

/// Runs `body` on one thread per rank of the mesh, with cores / ranks LibTorch threads each.
/// Returns true if the run was stopped at a gate. If a rank throws, the others are ended, and
/// runFailed says which rank failed first, where and why. A rank that is stuck for options.timeout
/// has failed.
bool runRankThreads(const RankThreadOptions& options, Gate& gate,
                    const std::function<void(RankContext&)>& body);

/// Runs `body` as one rank of several processes, which find each other by the environment. Renames
/// the process after its rank, as ps and top show it: "ringscope-r2". Returns and throws like
/// runRankThreads.
bool runRankProcess(const RankThreadOptions& options, const RankEnvironment& here, Gate& gate,
                    const std::function<void(RankContext&)>& body);

}  // namespace ringscope::engine
