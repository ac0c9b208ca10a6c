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

/// The times of what a rank's device does. Its events are recorded when they are asked for, with
/// the host's times and Clock::kDevice; the device's own times follow as TimesRecords, without a
/// wait in between. A device that fails tells nothing more, and the events keep the host's times;
/// whoever waits for its results says why. Belongs to the rank's thread; stretches may lie within
/// each other.
class LateTimes {
 public:
  LateTimes(traces::WorldRank rank, traces::Recorder& recorder, std::unique_ptr<DeviceQueue> queue);
  ~LateTimes();  ///< waits for the device
  LateTimes(const LateTimes&) = delete;
  LateTimes& operator=(const LateTimes&) = delete;

  /// From here on the device works on what `event` tells.
  void begin(traces::Event& event) noexcept;
  /// It has been given all of that: the event is recorded.
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
  std::unique_ptr<DeviceQueue> queue_;  ///< null: it has failed
  std::uint32_t last_ = 0;
  std::deque<Mark> marks_;  ///< of the queue, not reached yet
  std::map<std::uint32_t, std::int64_t> begun_;
  std::set<std::uint32_t> dropped_;  ///< their events are not in the recording
  std::vector<traces::TimesRecord> known_;
};

}  // namespace ringscope::engine
