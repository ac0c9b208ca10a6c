// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "engine/gpu/device_queue.h"
#include "traces/format/recording/recorder.h"

namespace ringscope::engine {

/// The times of the work of a rank's device. An event is recorded when its work is queued, with the
/// host's times and Clock::kDevice. The device's own times follow as TimesRecords, without waiting.
/// If the device fails, its events keep the host's times; the code that waits for its results
/// reports the failure. Belongs to the rank's thread. Stages may be nested.
class LateTimes {
 public:
  LateTimes(traces::WorldRank rank, traces::Recorder& recorder, std::unique_ptr<DeviceQueue> queue);
  ~LateTimes();  ///< waits for the device
  LateTimes(const LateTimes&) = delete;
  LateTimes& operator=(const LateTimes&) = delete;

  /// Marks that the device's work for `event` begins.
  void begin(traces::Event& event) noexcept;
  /// Marks that all of the event's work is queued and the event is recorded.
  void end(const traces::Event& event) noexcept;

 private:
  struct Mark {
    std::uint32_t pending;
    bool is_end;
  };
  bool mark(std::uint32_t pending, bool is_end);
  std::optional<std::int64_t> nextReached(bool wait);
  void settle(bool wait);
  void send();

  const traces::WorldRank rank_;
  traces::Recorder& recorder_;
  std::unique_ptr<DeviceQueue> queue_;  ///< null: the device has failed
  std::uint32_t last_ = 0;
  std::deque<Mark> marks_;  ///< marks in the queue that were not reached yet
  std::map<std::uint32_t, std::int64_t> begun_;
  std::set<std::uint32_t> dropped_;  ///< marks whose events are not in the recording
  std::vector<traces::TimesRecord> known_;
};

}  // namespace ringscope::engine
