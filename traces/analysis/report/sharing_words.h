// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The strategy and the mask of attention, as far as the recording tells them. A foreign job may
/// lack either.
struct SharingWords {
  std::optional<std::string> strategy;
  std::optional<std::string> mask;
};

/// Returns how the attention of a run was sharded and masked. Returns nothing when a foreign job
/// recorded no attention, because its run description holds only defaults then.
std::optional<SharingWords> describeSharing(const Trace& trace);

}  // namespace ringscope::traces
