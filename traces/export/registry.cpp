// SPDX-License-Identifier: Apache-2.0
#include "traces/core/output_file.h"
#include "traces/export/format.h"

namespace ringscope::traces {
namespace {

constexpr ExportFormat kFormats[] = {
    {"perfetto", "Perfetto's protobuf: ranks as processes, hops as flows, memory as counters",
     writePerfetto},
    {"chrome", "the same as Chrome's JSON trace events", writeChrome},
    {"csv", "the events, with the columns of the table events of ringscope query", writeCsv},
    {"safetensors", "the recorded tensors whose values were kept, under their keys", writeTensors},
};

}  // namespace

std::span<const ExportFormat> exportFormats() {
  return kFormats;
}

Exported exportTrace(const std::string& recording, std::string_view format,
                     const std::string& output) {
  const ExportFormat& to =
      entryNamed("format", format, kFormats, [](const ExportFormat& one) { return one.name; });
  checkOutputs({{"TRACE", recording}}, {{"--output", output}});
  const auto trace = openTrace(recording);
  OutputFile file(output);
  Exported exported = to.write(*trace, file.stream());
  file.finish();
  for (const std::string& problem : trace->problems()) exported.left_out.push_back(problem);
  return exported;
}

}  // namespace ringscope::traces
