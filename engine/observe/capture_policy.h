// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "traces/format/schema/tensor_key.h"

namespace ringscope::engine {

/// The tensor data that a recording keeps. The command line has four forms:
///
///   none                  Events only.
///   stats                 Hash and statistics of every tensor. Values of position ids and buffers.
///   full                  The values of every tensor too.
///   values:steps=A-B      As stats, and the values of attention tensors in training steps A to B.
class CapturePolicy {
 public:
  enum class Keep { kNothing, kStats, kValues };

  /// Parses a policy. Throws usageError that lists the forms above.
  static CapturePolicy parse(const std::string& text);
  static CapturePolicy none() { return CapturePolicy(); }

  Keep keep(const traces::TensorName& tensor, const traces::Place& place) const;
  bool keepsAnything() const { return stats_; }

 private:
  bool stats_ = false;
  bool all_values_ = false;
  std::int32_t first_step_ = 0, last_step_ = -1;  // values of attention tensors in these steps
};

}  // namespace ringscope::engine
