// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/command_line/command.h"
#include "traces/analysis/verify/trace_check.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/lacks.h"

namespace ringscope::app {
namespace {

/// Returns why nothing could be compared.
std::string reason(const traces::Trace& trace, const traces::TraceCheck& check) {
  for (const auto& layer : check.layers)
    if (!layer.skipped.empty()) return layer.skipped.front();
  return "no q, k and v of a layer are recorded; " + traces::valuesAdvice(trace, 0, "records them");
}

int run(const std::string& path, bool json) {
  const auto trace = traces::openTrace(path);
  trace->readEvents();  // reads all chunks, so that every damaged chunk is reported
  for (const auto& remark : traces::listRemarks(*trace)) std::cerr << "note: " << remark << "\n";
  const auto check = traces::checkTrace(*trace);
  if (check.compared() == 0)
    throw inputError(path + " holds nothing that can be recomputed: " + reason(*trace, check));
  std::cout << (json ? traces::toJson(check).dump(2) + "\n" : traces::toText(check));
  return check.right() ? kSuccess : kAnswerIsNo;
}

}  // namespace

void defineVerify(CLI::App& command, int& exit_code) {
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command.add_option("TRACE", *path, "A .rscope file that was recorded with values")->required();
  command.add_flag("--json", *json, "Print as JSON");
  command.callback([=, &exit_code] { exit_code = run(*path, *json); });
}

}  // namespace ringscope::app
