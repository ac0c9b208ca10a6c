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

/// The reports of one rank to the recording. Without a recorder the calls cost almost nothing.
/// Belongs to its rank's thread.
class Observer {
 public:
  /// Makes an observer. `recorder`, `live` and `changing` may be null and must outlive it; `memory`
  /// may be null. With `changing`, the policy comes from there. With `queue`, a device does the
  /// rank's work, and the times of its stages come from the device.
  Observer(WorldRank rank, traces::Recorder* recorder, CapturePolicy policy,
           std::shared_ptr<MemoryTracker> memory, LiveTensors* live = nullptr,
           const LiveCapture* changing = nullptr, std::unique_ptr<DeviceQueue> queue = nullptr);

  WorldRank rank() const { return rank_; }
  bool recording() const { return recorder_ != nullptr; }
  std::int64_t now() const { return recorder_ ? recorder_->now() : 0; }

  void event(const traces::Event& event);
  /// Returns the device's times; null if the rank's own thread does the work or nothing is
  /// recorded.
  LateTimes* lateTimes() { return late_times_ ? &*late_times_ : nullptr; }
  /// Records one side of a message to or from `peer` as a send or receive. The given event has the
  /// fields that all messages of the exchange share: place, payload, source rank, exchange, group.
  void transfer(const TransferReport& report, traces::WorldRank peer, traces::Event event);
  void collective(traces::GroupId group, const CollectiveReport& report,
                  const traces::Place& place);
  /// Records hash and statistics of a tensor, and its values if the policy keeps them. If they
  /// apply, `source` is the rank that owns the block and `piece` the piece of the stage's work.
  void tensor(const traces::TensorName& name, const traces::Place& place, const at::Tensor& tensor,
              traces::WorldRank source = traces::WorldRank::none(),
              traces::PieceIndex piece = traces::PieceIndex::none());
  void shard(const traces::ShardRecord& shard);
  /// Records data that does not depend on the capture policy: the run's intent, groups, schedules.
  template <typename Record>
  void record(const Record& record) {
    if (recorder_) recorder_->record(record);
  }
  /// Records every memory category that has changed since the last sample.
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

/// The sizes of a stage that are known when it begins, for its NVTX range.
struct StageSize {
  traces::WorldRank peer;  ///< of a wait: the first rank that it waits for
  /// The bytes of the stage. A wait has the bytes received, or sent if nothing is received;
  /// attending has the bytes of keys and values; a merge has the bytes of the merged block. A
  /// gradient sync has the bytes summed over ranks. Other stages have 0.
  std::int64_t bytes = 0;
};

/// A stage of a rank's work: from construction to destruction it is one NVTX range and one event.
/// If a device does the work (isDeviceWork), the event has the device's times, which come later.
class StageScope {
 public:
  StageScope(Observer& observer, traces::EventKind kind, const traces::Place& place,
             traces::WorldRank source_rank = traces::WorldRank::none(), const StageSize& size = {});
  ~StageScope();
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;
  /// Returns the event, for fields that the constructor does not set.
  traces::Event& event() { return event_; }

 private:
  Observer& observer_;
  traces::Event event_;
  std::int64_t cpu_begin_ = 0;
  LateTimes* late_times_ = nullptr;  ///< for a stage that a device does
};

}  // namespace ringscope::engine
