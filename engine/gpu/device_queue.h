// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace ringscope::engine {

/// The marks in a thread's queue of work for its device. The device runs the work in order and
/// later than it was queued. Belongs to that thread.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  /// Marks the end of the work that was queued until now.
  virtual void mark() = 0;
  /// Returns when the device reached the earliest mark that was not returned yet, in nanoseconds of
  /// steadyNow(). Returns nullopt if the device has not reached it, or if all marks were returned.
  /// With `wait`, waits for the device. Throws runFailed if the device's work failed.
  virtual std::optional<std::int64_t> nextReached(bool wait) = 0;
};

namespace gpu {

/// Makes a queue of the calling thread's stream, timed by CUDA events.
std::unique_ptr<DeviceQueue> timedStream();

}  // namespace gpu
}  // namespace ringscope::engine
