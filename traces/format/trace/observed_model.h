// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

// Facts about a PyTorch job's model that its recorder observed.

/// The parameter that makes the logits.
struct OutputProjection {
  std::string parameter;
  bool tied = false;  ///< it also embeds the tokens
};

/// Returns the output projection that the recorder saw at work; nullopt when it saw none.
std::optional<OutputProjection> findOutputProjection(const Trace& trace);

/// Names the modules that mix tokens in another way than by attention, as a sentence; empty when
/// the recorder saw none.
std::string describeUnwatched(const Trace& trace);

/// The keys of the notes: an object with `parameter` and `tied`; a list of [name, class].
inline constexpr const char* kProjectionNote = "output_projection";
inline constexpr const char* kUnwatchedNote = "unwatched";

}  // namespace ringscope::traces
