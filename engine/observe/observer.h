// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "engine/control/run_switches.h"
#include "engine/observe/capture_policy.h"
#include "engine/observe/live_tensors.h"
#include "engine/observe/memory_tracker.h"
#include "engine/transport/communicator.h"
#include "traces/recording/recorder.h"

namespace ringscope::engine {

/// What one rank reports to the recording. Without a recorder everything here is next to free.
/// Belongs to its rank's thread.
class Observer {
 public:
  /// `recorder`, `live` and `switches` may be null and outlive the observer; `memory` may be null.
  /// With switches the policy is theirs.
  Observer(int rank, traces::Recorder* recorder, CapturePolicy policy,
           std::shared_ptr<MemoryTracker> memory, LiveTensors* live = nullptr,
           const RunSwitches* switches = nullptr);

  int rank() const { return rank_; }
  bool recording() const { return recorder_ != nullptr; }
  std::int64_t now() const { return recorder_ ? recorder_->now() : 0; }

  void event(const traces::Event& event);
  /// Records each transfer as a send or receive of this place.
  void transfers(const std::vector<TransferReport>& reports, traces::Payload payload,
                 int source_rank, const traces::Place& place);
  /// Hash and statistics, and the values if the policy keeps them.
  void tensor(const std::string& name, const traces::Place& place, const at::Tensor& tensor);
  void shard(traces::ShardRecord shard);
  /// A sample of every category that has changed since the last one.
  void sampleMemory(const traces::Place& place);

 private:
  CapturePolicy policy() const { return switches_ ? switches_->capture() : policy_; }

  int rank_;
  traces::Recorder* recorder_;
  CapturePolicy policy_;
  std::shared_ptr<MemoryTracker> memory_;
  LiveTensors* live_;
  const RunSwitches* switches_;
  std::array<std::int64_t, MemoryTracker::kCategories> last_sample_{};
};

/// A stretch of a rank's work: from its construction to its end it is one NVTX range and one event.
class StageScope {
 public:
  StageScope(Observer& observer, traces::EventKind kind, const traces::Place& place,
             int source_rank = -1, std::int64_t bytes = 0);
  ~StageScope();
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;
  /// For fields that the constructor does not set.
  traces::Event& event() { return event_; }

 private:
  Observer& observer_;
  traces::Event event_;
  std::int64_t cpu_begin_ = 0;
};

}  // namespace ringscope::engine
