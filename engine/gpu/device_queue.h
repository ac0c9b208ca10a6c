// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace ringscope::engine {

/// What a device does, in order and later than it was asked for, of what one thread gives it.
/// Belongs to that thread.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  /// Marks the end of what the device has been given until now.
  virtual void mark() = 0;
  /// When the device came to the earliest mark that was not told yet, in nanoseconds of
  /// steadyNow(); nothing: it has not come there, or all are told. With `wait`: waits until it has.
  /// Throws runFailed when the device's work failed.
  virtual std::optional<std::int64_t> nextReached(bool wait) = 0;
};

namespace gpu {

/// The calling thread's stream, timed by CUDA events.
std::unique_ptr<DeviceQueue> timedStream();

}  // namespace gpu
}  // namespace ringscope::engine
