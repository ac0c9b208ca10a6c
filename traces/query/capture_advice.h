// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/query/trace.h"

namespace ringscope::traces {

/// What would have recorded what a recording lacks, as a clause. Of a run of RingScope's own the
/// capture, and what that does: "--capture full records them"; of a job that was recorded elsewhere
/// the option of its recorder, which has no such captures; of one that was only profiled, that
/// recorder.
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
