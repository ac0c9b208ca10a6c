// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>

#include "app/ringscope/commands/command.h"
#include "traces/query/trace.h"

namespace ringscope::app {
namespace {

nlohmann::json describe(const traces::Trace& trace, const std::string& path) {
  nlohmann::json json = {{"path", path},
                         {"bytes", std::filesystem::file_size(path)},
                         {"format", traces::kFormatVersion},
                         {"run", trace.note("run")},
                         {"ranks", trace.worldSize()},
                         {"events", trace.eventCount()},
                         {"tensors", trace.tensors().size()},
                         {"shards", trace.shards().size()},
                         {"diffs", trace.diffs().size()},
                         {"ring_steps", trace.moments().size()},
                         {"duration_ns", trace.endNs()},
                         {"complete", trace.end().has_value()},
                         {"problems", trace.problems()}};
  if (trace.end()) {
    json["dropped_events"] = trace.end()->dropped_events;
    json["dropped_tensors"] = trace.end()->dropped_tensors;
  }
  return json;
}

void printText(const nlohmann::json& info) {
  const auto& run = info["run"];
  if (run.is_object())
    std::cout << run.value("command", "") << " · " << run.value("strategy", "") << " · cp "
              << run.value("cp", 0) << " · balance " << run.value("balance", "") << " · mask "
              << run.value("mask", "") << " · " << run.value("dtype", "") << " · length "
              << run.value("seq_len", 0) << " · capture " << run.value("capture", "") << "\n";
  std::cout << info["events"] << " events of " << info["ranks"] << " ranks over "
            << info["duration_ns"].get<double>() / 1e6 << " ms, " << info["ring_steps"]
            << " ring steps\n"
            << info["tensors"] << " tensors, " << info["shards"] << " shards, " << info["diffs"]
            << " diffs, " << info["bytes"] << " bytes\n";
  if (info.contains("dropped_events"))
    std::cout << info["dropped_events"] << " events dropped, " << info["dropped_tensors"]
              << " tensors without values\n";
  for (const auto& problem : info["problems"])
    std::cout << "note: " << problem.get<std::string>() << "\n";
}

}  // namespace

void addInfo(CLI::App& app, int&) {
  auto* command = app.add_subcommand("info", "What a trace holds");
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command->add_option("TRACE", *path, "A .rscope file")->required();
  command->add_flag("--json", *json, "Print as JSON");
  command->callback([=] {
    const auto info = describe(*traces::openTrace(*path), *path);
    *json ? void(std::cout << info.dump(2) << "\n") : printText(info);
  });
}

}  // namespace ringscope::app
