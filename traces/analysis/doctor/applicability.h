// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Returns why a mistake cannot be made in the recorded run, as a clause: "the run has one dp
/// rank". Empty when it can, or when the recording does not say.
std::string whyNotApplicable(const Trace& trace, const std::string& mistake);

}  // namespace ringscope::traces
