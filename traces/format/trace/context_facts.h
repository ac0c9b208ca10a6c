// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

// Facts about PyTorch's context_parallel in a job, as the recorder observed them.

/// A backward that began after the job had left the context of its forward.
struct OutsideBackward {
  std::int32_t train_step = 0;
  WorldRank rank;
  std::int64_t attentions = 0;  ///< calls of attention in the context, none of whose backwards ran
  std::string error;            ///< of the job, which ended there; empty: it went on
};

/// Returns these backwards; nullopt when the recorder did not observe when the context was active.
std::optional<std::vector<OutsideBackward>> outsideBackwards(const Trace& trace);
nlohmann::json toJson(const OutsideBackward& backward);

/// A buffer of a call of context_parallel that raised an error.
struct UncutBuffer {
  std::int32_t train_step = 0;
  WorldRank rank;
  std::string buffer;
  std::int64_t seq_dim = 0;
  std::vector<std::int64_t> shape;
};

/// Returns these buffers in the order of their calls.
std::vector<UncutBuffer> uncutBuffers(const Trace& trace);
nlohmann::json toJson(const UncutBuffer& buffer);

/// The keys of the notes, each of which is a list of the above.
inline constexpr const char* kOutsideNote = "backward_outside";
inline constexpr const char* kUncutNote = "uncut_buffers";

}  // namespace ringscope::traces
