// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "traces/query/trace.h"

namespace ringscope::test {

/// A recording made now by the command-line program: two training steps of the sample model over
/// 128 tokens with --verify. Made once per kind and process.
std::string sampleTraceFile(int cp, const std::vector<std::string>& mistakes);
/// One training step with nothing but events.
std::string sparseTraceFile();
std::shared_ptr<traces::Trace> sampleTrace(int cp, const std::vector<std::string>& mistakes);

}  // namespace ringscope::test
