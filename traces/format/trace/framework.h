// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/format/schema/framework.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// What the recorded run was written in: RingScope where no note says otherwise. Nothing where the
/// notes name none that is known, or several.
std::optional<Framework> frameworkOf(const Trace& trace);

/// Whether something else than RingScope ran what was recorded: it cannot be run again from here,
/// and has none of RingScope's options.
bool isForeign(const Trace& trace);

}  // namespace ringscope::traces
