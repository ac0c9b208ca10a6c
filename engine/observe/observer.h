// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/observe/capture_policy.h"
#include "engine/observe/late_times.h"
#include "engine/observe/live_capture.h"
#include "engine/observe/live_tensors.h"
#include "engine/observe/memory_tracker.h"
#include "engine/transport/communicator.h"
#include "traces/format/recording/recorder.h"

namespace ringscope::engine {

/// What one rank reports to the recording. Without a recorder everything here is next to free.
/// Belongs to its rank's thread.
class Observer {
 public:
  /// `recorder`, `live` and `changing` may be null and outlive the observer; `memory` may be null.
  /// With `changing` the policy is what that says. With `queue` a device does the rank's work, and
  /// the times of its stages come from there.
  Observer(WorldRank rank, traces::Recorder* recorder, CapturePolicy policy,
           std::shared_ptr<MemoryTracker> memory, LiveTensors* live = nullptr,
           const LiveCapture* changing = nullptr, std::unique_ptr<DeviceQueue> queue = nullptr);

  WorldRank rank() const { return rank_; }
  bool recording() const { return recorder_ != nullptr; }
  std::int64_t now() const { return recorder_ ? recorder_->now() : 0; }

  void event(const traces::Event& event);
  /// Null where the rank's own thread does its work, or nothing is recorded.
  LateTimes* lateTimes() { return late_times_ ? &*late_times_ : nullptr; }
  /// Records one side of a message as a send or receive.
  /// `event` says what all of them have in common: place, payload, source rank, exchange and group;
  /// `peer` is the other side.
  void transfer(const TransferReport& report, traces::WorldRank peer, traces::Event event);
  void collective(traces::GroupId group, const CollectiveReport& report,
                  const traces::Place& place);
  /// Hash and statistics, and the values if the policy keeps them. `source` and `piece`: of which
  /// rank's block, and of which piece of the stage's work on it, where that applies.
  void tensor(const traces::TensorName& name, const traces::Place& place, const at::Tensor& tensor,
              traces::WorldRank source = traces::WorldRank::none(),
              traces::PieceIndex piece = traces::PieceIndex::none());
  void shard(const traces::ShardRecord& shard);
  /// What is recorded whatever the capture policy: the run's intent, groups, schedules.
  template <typename Record>
  void record(const Record& record) {
    if (recorder_) recorder_->record(record);
  }
  /// A sample of every category that has changed since the last one.
  void sampleMemory(const traces::Place& place);

 private:
  void recordMemory(std::int64_t time_ns, const MemoryTracker::Bytes& held);

  CapturePolicy policy() const { return changing_ ? changing_->policy() : policy_; }

  WorldRank rank_;
  traces::Recorder* recorder_;
  CapturePolicy policy_;
  std::shared_ptr<MemoryTracker> memory_;
  LiveTensors* live_;
  const LiveCapture* changing_;
  std::optional<LateTimes> late_times_;
  MemoryTracker::Bytes last_sample_{};
  std::int64_t last_peak_ = 0, last_sampled_ns_ = 0;
};

/// What is known of a stretch when it begins, for its NVTX range.
struct StageSize {
  traces::WorldRank peer;  ///< of a wait: the first rank that it waits for
  /// Of a wait: what comes, or where nothing comes, what goes; of attending: keys and values; of a
  /// merge: what is merged; of a gradient sync: what is summed over ranks; else 0.
  std::int64_t bytes = 0;
};

/// A stretch of a rank's work: from its construction to its end it is one NVTX range and one event.
/// What a device does of it (isDeviceWork) has the device's times, which come later.
class StageScope {
 public:
  StageScope(Observer& observer, traces::EventKind kind, const traces::Place& place,
             traces::WorldRank source_rank = traces::WorldRank::none(), const StageSize& size = {});
  ~StageScope();
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;
  /// For fields that the constructor does not set.
  traces::Event& event() { return event_; }

 private:
  Observer& observer_;
  traces::Event event_;
  std::int64_t cpu_begin_ = 0;
  LateTimes* late_times_ = nullptr;  ///< of a stretch that a device does
};

}  // namespace ringscope::engine
