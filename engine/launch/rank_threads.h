// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "engine/gate/gate.h"
#include "engine/observe/observer.h"
#include "engine/rank/rank_context.h"
#include "engine/transport/transport.h"

namespace ringscope::engine {

/// What rank threads of one run share.
struct RankThreadOptions {
  Mesh mesh;
  std::chrono::milliseconds timeout{60'000};
  traces::TransportKind transport = traces::TransportKind::kLocal;
  traces::Device device = traces::Device::kCpu;
  traces::Recorder* recorder = nullptr;  ///< of all ranks; null: nothing is recorded
  CapturePolicy capture;
  std::shared_ptr<MemoryTracker> memory;  ///< null: memory is not tracked
  LiveTensors* live = nullptr;
  RunSwitches* switches = nullptr;  ///< null: a correct run whose capture stays
  const std::function<void(WorldRank, const traces::Place&)>* at_gate = nullptr;
  /// A rank thread is stuck, has been asked to end and has not: nothing can end it but the end of
  /// the process. Called once, from another thread, with the sentence that names it.
  std::function<void(const std::string&)> on_stuck;
};

/// Runs `body` on one thread a rank of the mesh, with cores / ranks LibTorch threads each. Returns
/// true when it was stopped at a gate. When a rank throws, the others are ended, and runFailed says
/// which rank failed first, where and why; a rank that is stuck for options.timeout has failed.
bool runRankThreads(const RankThreadOptions& options, Gate& gate,
                    const std::function<void(RankContext&)>& body);

/// Runs `body` as one rank of several processes, which find each other as the environment says. The
/// process is then called by its rank, as ps and top show it: "ringscope-r2".
/// Returns and throws as runRankThreads does.
bool runRankProcess(const RankThreadOptions& options, const RankEnvironment& here, Gate& gate,
                    const std::function<void(RankContext&)>& body);

}  // namespace ringscope::engine
