// SPDX-License-Identifier: Apache-2.0
// Any JSON, and a run's settings out of it.
#include "traces/format/core/json.h"
#include "traces/format/schema/run_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringscope::traces;
  try {
    const auto json = parseJson({reinterpret_cast<const char*>(data), size}, "the text");
    RunSpec run;
    fromJson(json, run, "the text");
    toJson(run).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  } catch (const ringscope::Error&) {
  }
  return 0;
}
