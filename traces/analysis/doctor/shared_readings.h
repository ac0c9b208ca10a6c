// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <map>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Several rules rest on one reading of a trace. While one of these lives, such a reading is made
/// once: diagnose() has one. It belongs to the thread that made it, and the trace must not change
/// meanwhile. Without one every rule reads by itself.
class SharedReadings {
 public:
  explicit SharedReadings(const Trace& trace) : trace_(trace), outer_(current) { current = this; }
  ~SharedReadings() { current = outer_; }
  SharedReadings(const SharedReadings&) = delete;
  SharedReadings& operator=(const SharedReadings&) = delete;

  /// Returns the reading that `read` makes of the trace, now or when it was made before. Throws as
  /// `read` does.
  template <typename T>
  static T of(const Trace& trace, T (*read)(const Trace&)) {
    if (!current || &current->trace_ != &trace) return read(trace);
    std::any& known = current->known_[reinterpret_cast<void (*)()>(read)];
    if (!known.has_value()) known = read(trace);
    return std::any_cast<const T&>(known);
  }

 private:
  inline static thread_local SharedReadings* current = nullptr;
  const Trace& trace_;
  SharedReadings* outer_;
  std::map<void (*)(), std::any> known_;
};

}  // namespace ringscope::traces
