// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

// Advice, as a clause, for a recording that lacks something. No function advises an option that the
// recording was made with: it says instead that the option was given, or what else was missing.

/// Reports whether a recording with this capture would keep values that this recording lacks. It
/// would not when RingScope's own run already had the capture, or when a job already had
/// values="all".
bool captureWouldHelp(const Trace& trace, const std::string& capture);

/// Returns advice that names the option which would have kept the missing values. For a run of
/// RingScope's own it is `capture`, followed by `does`: "--capture full records them". For a job
/// that the Python recorder recorded it is the option of the recorder. For a job that was only
/// profiled it is the recorder.
std::string captureAdvice(const Trace& trace, const std::string& capture, const std::string& does);

/// Returns advice about the values of one training step.
std::string valuesAdvice(const Trace& trace, std::int32_t train_step, const std::string& does);

/// Returns advice about verdicts against unsharded attention ("a run with --verify shows it"). Only
/// RingScope's own runs compute these while they run.
std::string verdictAdvice(const Trace& trace, const std::string& does);

/// Returns advice about a schedule: the rows and keys that ranks attend in their ring steps.
std::string scheduleAdvice(const Trace& trace);

/// Returns advice about the intended mask.
std::string maskAdvice(const Trace& trace);

/// Returns advice about the memory that ranks hold.
std::string memoryAdvice(const Trace& trace);

}  // namespace ringscope::traces
