// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::test {

/// A recording made now by the command-line program: two training steps of the sample model over
/// 128 tokens with --verify. Made once per kind and process.
std::string sampleTraceFile(int cp, const std::vector<std::string>& mistakes);
/// One training step of four ranks over 64 tokens with more options of `ringscope train`.
std::string traceFileWith(const std::string& options);
/// The packed documents of the reference cases through `ringscope attend` on four ranks.
std::string documentsTraceFile(const std::string& options);
/// Two ranks, one step, 32 tokens of two packed documents: 20 and 12, each counted from 0.
std::string packedTraceFile();
std::shared_ptr<traces::Trace> sampleTrace(int cp, const std::vector<std::string>& mistakes);

}  // namespace ringscope::test
