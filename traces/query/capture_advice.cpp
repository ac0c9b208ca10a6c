// SPDX-License-Identifier: Apache-2.0
#include "traces/query/capture_advice.h"

#include "traces/query/framework.h"
#include "traces/query/imported.h"

namespace ringscope::traces {
namespace {

constexpr const char* kOwnTrace = "a run of this engine with --trace would show it";
/// Of a job that was only profiled.
constexpr const char* kRecorder = "a recording of the job by ringscope.record(…) would show it";

}  // namespace

std::string captureAdvice(const Trace& trace, const std::string& capture, const std::string& does) {
  if (isForeign(trace))
    return "ringscope.record(…, values=\"all\") keeps all that its recorder sees";
  return "--capture " + capture + " " + does;
}

std::string valuesAdvice(const Trace& trace, std::int32_t train_step, const std::string& does) {
  return captureAdvice(trace, "values:steps=" + std::to_string(train_step), does);
}

std::string verdictAdvice(const Trace& trace, const std::string& does) {
  if (importedFrom(trace))
    return "of a recording of the job by ringscope.record(…, values=\"all\") ringscope verify "
           "computes the attention again";
  if (isForeign(trace)) return "ringscope verify computes recorded attention again";
  return "a run with --verify " + does;
}

std::string scheduleAdvice(const Trace& trace) {
  if (importedFrom(trace)) return kRecorder;
  if (isForeign(trace)) return "in a ring of your own ringscope.block(…) tells it of each block";
  return kOwnTrace;
}

std::string maskAdvice(const Trace& trace) {
  return isForeign(trace) ? "ringscope.record(…, declare={\"mask\": …}) tells it" : kOwnTrace;
}

std::string memoryAdvice(const Trace& trace) {
  return isForeign(trace) ? "ringscope.record(…) samples it in each step that it records"
                          : kOwnTrace;
}

}  // namespace ringscope::traces
