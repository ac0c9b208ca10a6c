// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/capture_advice.h"

#include "traces/format/core/prose.h"
#include "traces/format/schema/declared.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/imported.h"
#include "traces/format/trace/recorder_request.h"

namespace ringscope::traces {
namespace {

constexpr const char* kOwnTrace = "a run of this engine with --trace would show it";
constexpr const char* kAllValues =
    "ringscope.record(…, values=\"all\") keeps all that its recorder sees";
constexpr const char* kRecorderWithAll =
    "a recording of the job by ringscope.record(…, values=\"all\") keeps all that its recorder "
    "sees";
/// Advice for a job that was only profiled.
constexpr const char* kRecorder = "a recording of the job by ringscope.record(…) would show it";
constexpr const char* kInfoSaysWhy = "; `ringscope info` says what the recording lacks";

/// Reports whether a run of RingScope's own was recorded with a capture that keeps at least what
/// `capture` keeps.
bool hadCapture(const RunSpec& run, const std::string& capture) {
  return run.capture == "full" || run.capture == capture ||
         (capture == "stats" && run.capture != "none");
}

/// Says that the run had this option although the value is missing.
std::string inSpiteOf(const std::string& option) {
  return "the run had " + option + ", and this is not in its recording" + kInfoSaysWhy;
}

/// Says the same about a job that the Python recorder recorded.
std::string inSpiteOf(const RecorderRequest& request) {
  if (request.left_out_by_budget.value_or(0) > 0)
    return "the values of " + describeCount(*request.left_out_by_budget, "tensor") +
           " did not fit into budget_bytes" +
           (request.budget_bytes > 0 ? "=" + std::to_string(request.budget_bytes) : "") +
           " of ringscope.record(…); a larger one keeps them";
  if (request.values == "all")
    return std::string(
               "the job was recorded with values=\"all\", and this is not in its "
               "recording") +
           kInfoSaysWhy;
  return std::string("this is not in the recording, and values=\"all\" would not add it") +
         kInfoSaysWhy;
}

/// Returns advice about something that every own run with --trace records.
std::string ownTraceAdvice(const Trace& trace) {
  return trace.run() ? std::string("this is not in the recording") + kInfoSaysWhy : kOwnTrace;
}

bool declaredMask(const Trace& trace) {
  const nlohmann::json& declared = trace.note(kDeclaredNote);
  return declared.is_object() && declared.contains("mask");
}

}  // namespace

bool captureWouldHelp(const Trace& trace, const std::string& capture) {
  if (const auto request = recorderRequest(trace))
    return request->allWouldKeepMore(capture == "stats");
  const RunSpec* run = trace.run();
  return isForeign(trace) || !run || !hadCapture(*run, capture);
}

std::string captureAdvice(const Trace& trace, const std::string& capture, const std::string& does) {
  const auto request = recorderRequest(trace);
  if (request) return captureWouldHelp(trace, capture) ? kAllValues : inSpiteOf(*request);
  if (importedFrom(trace)) return kRecorderWithAll;
  if (isForeign(trace)) return kAllValues;
  if (!captureWouldHelp(trace, capture)) return inSpiteOf("--capture " + trace.run()->capture);
  return "--capture " + capture + " " + does;
}

std::string valuesAdvice(const Trace& trace, std::int32_t train_step, const std::string& does) {
  const auto request = recorderRequest(trace);
  if (request && !request->recorded(train_step))
    return "steps= of ringscope.record(…) did not include training step " +
           std::to_string(train_step);
  return captureAdvice(trace, "values:steps=" + std::to_string(train_step), does);
}

std::string verdictAdvice(const Trace& trace, const std::string& does) {
  if (importedFrom(trace))
    return "of a recording of the job by ringscope.record(…, values=\"all\") ringscope verify "
           "computes the attention again";
  if (isForeign(trace)) return "ringscope verify computes recorded attention again";
  if (trace.run() && trace.run()->verify) return inSpiteOf("--verify");
  return "a run with --verify " + does;
}

std::string scheduleAdvice(const Trace& trace) {
  if (importedFrom(trace)) return kRecorder;
  if (!isForeign(trace)) return ownTraceAdvice(trace);
  const auto request = recorderRequest(trace);
  if (request && (request->annotated || request->ring))
    return "the blocks that the recorder saw make no schedule" + std::string(kInfoSaysWhy);
  return "in a ring of your own ringscope.block(…) tells it of each block";
}

std::string maskAdvice(const Trace& trace) {
  if (!isForeign(trace)) return ownTraceAdvice(trace);
  if (importedFrom(trace) || !declaredMask(trace))
    return "ringscope.record(…, declare={\"mask\": …}) tells it";
  return "a mask was declared, and attention cannot be judged by it" + std::string(kInfoSaysWhy);
}

std::string memoryAdvice(const Trace& trace) {
  if (!isForeign(trace)) return ownTraceAdvice(trace);
  if (recorderRequest(trace)) return "the recorder of this job wrote no samples of it";
  return "ringscope.record(…) samples it in each step that it records";
}

}  // namespace ringscope::traces
