// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/command_line/command.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/exchange/import/write_trace.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/imported.h"

namespace ringscope::app {

void defineImport(CLI::App& command, int&) {
  auto input = std::make_shared<std::string>();
  auto output = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  auto without = std::make_shared<std::string>();
  command
      .add_option(
          "RECORDING", *input,
          "A folder of the Python recorder, files of PyTorch's profiler (JSON) or Flight "
          "Recorder (pickles or JSON), NCCL's Inspector or Nsight Systems (SQLite), one file per "
          "rank, or a .rscope file")
      ->required();
  command.add_option("-o,--output", *output, "The .rscope file to write")->required();
  command.add_option(
      "--without", *without,
      "Data to leave out, so that the file can be shared: all, or any of tokens (ids, labels, "
      "logits), weights (and gradients), paths, hosts (machine and time)");
  command.add_flag("--json", *json, "Print as JSON");
  command.callback([=] {
    const auto problems = traces::writeTrace(*input, *output, traces::Redaction::parse(*without));
    if (*json) {
      std::cout
          << nlohmann::json({{"trace", traces::toUtf8(*output)}, {"problems", problems}}).dump(2)
          << "\n";
      return;
    }
    for (const std::string& problem : problems) std::cout << problem << "\n";
    if (const auto imported = traces::importedFrom(*traces::openTrace(*output))) {
      std::cout << traces::describe(*imported) << "\n";
      for (const std::string& lack : imported->lacks) std::cout << "note: " << lack << "\n";
    }
    std::cout << "imported: " << *output << "\n";
  });
}

}  // namespace ringscope::app
