// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

// What to do where a recording lacks something, as a clause. No function advises an option that the
// recording was made with: it then says that the option was given, or what else was missing.

/// Whether a recording with this capture would keep values that this recording lacks: a run of
/// RingScope's own may have had it already, and so may a job have had values="all".
bool captureWouldHelp(const Trace& trace, const std::string& capture);

/// Names what would have kept what is missing. For a run of RingScope's own the capture, and what
/// that does: "--capture full records them". For a job that was recorded elsewhere the option of
/// its recorder, which has no such captures. For a job that was only profiled, the recorder.
std::string captureAdvice(const Trace& trace, const std::string& capture, const std::string& does);

/// The same of the values of one training step.
std::string valuesAdvice(const Trace& trace, std::int32_t train_step, const std::string& does);

/// The same of verdicts against unsharded attention, which only RingScope's own runs take while
/// they run: "a run with --verify shows it".
std::string verdictAdvice(const Trace& trace, const std::string& does);

/// The same of a schedule: the rows and keys that ranks attend in their ring steps.
std::string scheduleAdvice(const Trace& trace);

/// The same of the mask that was meant.
std::string maskAdvice(const Trace& trace);

/// The same of the memory that ranks hold.
std::string memoryAdvice(const Trace& trace);

}  // namespace ringscope::traces
