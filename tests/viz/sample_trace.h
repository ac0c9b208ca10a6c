// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::test {

/// Returns a recording that the command-line program makes during the test: two training steps of
/// the sample model over 128 tokens with --verify. It is made once per kind and process.
std::string sampleTraceFile(int cp, const std::vector<std::string>& mistakes);
/// Returns one training step of four ranks over 64 tokens with more options of `ringscope train`.
std::string traceFileWith(const std::string& options);
/// Returns the packed documents of the reference cases through `ringscope attend` on four ranks.
std::string documentsTraceFile(const std::string& options);
/// Returns two ranks, one step, 32 tokens of two packed documents of 20 and 12 tokens, each counted
/// from 0.
std::string packedTraceFile();
std::shared_ptr<traces::Trace> sampleTrace(int cp, const std::vector<std::string>& mistakes);

}  // namespace ringscope::test
