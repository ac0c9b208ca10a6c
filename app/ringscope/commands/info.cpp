// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/command_line/command.h"
#include "traces/analysis/verify/recompute/gather.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/ending.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/hang.h"
#include "traces/format/trace/imported.h"
#include "traces/format/trace/lacks.h"
#include "traces/format/trace/observed_model.h"
#include "traces/format/trace/trace.h"

namespace ringscope::app {
namespace {

nlohmann::json describe(const traces::Trace& trace, const std::string& path) {
  const traces::Ending ending = traces::findEnding(trace);
  nlohmann::json json = {{"path", traces::toUtf8(path)},
                         {"bytes", traces::sizeOfRecording(path)},
                         {"format", traces::kFormatVersion},
                         {"run", trace.run() ? traces::toJson(*trace.run()) : nlohmann::json()},
                         {"ranks", trace.worldSize()},
                         {"events", trace.eventCount()},
                         {"tensors", trace.tensors().size()},
                         {"shards", trace.shards().size()},
                         {"diffs", trace.diffs().size()},
                         {"ring_steps", trace.moments().size()},
                         {"duration_ns", trace.endNs()},
                         {"complete", ending.whole()},
                         {"ended", {{"how", name(ending.how)}, {"reason", ending.reason}}},
                         {"problems", traces::listRemarks(trace)}};
  if (const auto imported = traces::importedFrom(trace))
    json["imported"] = {{"format", imported->format},
                        {"collectives", imported->collectives},
                        {"messages", imported->messages},
                        {"unmatched_collectives", imported->unmatched_collectives},
                        {"unmatched_messages", imported->unmatched_messages},
                        {"standing", imported->standing},
                        {"lacks", imported->lacks}};
  for (const traces::Hang& hang : traces::findHangs(trace))
    json["hangs"].push_back(traces::toJson(hang));
  if (trace.end()) {
    json["dropped_events"] = trace.end()->dropped_events;
    json["dropped_tensors"] = trace.end()->dropped_tensors;
  }
  return json;
}

/// Reports whether the recording says how attention was sharded. If a foreign job recorded no
/// attention, the values in its run description are only defaults.
bool knowsAttention(const traces::Trace& trace) {
  const traces::RecordedLayers layers = traces::recordedLayers(trace);
  return !traces::isForeign(trace) || !layers.with_values.empty() || layers.without_values > 0;
}

void printText(const nlohmann::json& info, bool knows_attention) {
  const auto& run = info["run"];
  if (run.is_object() && !knows_attention)
    std::cout << run.value("command", "") << " · no attention recorded\n";
  else if (run.is_object())
    std::cout << run.value("command", "") << " · " << run.value("strategy", "") << " · cp "
              << run.value("cp", 0) << " · balance "
              << (run["balance"].is_string() ? run.value("balance", "") : "by mask") << " · mask "
              << run.value("mask", "") << " · " << run.value("dtype", "") << " · length "
              << run.value("seq_len", 0) << " · capture " << run.value("capture", "") << "\n";
  const auto count = [&info](const char* key, const char* noun) {
    return traces::describeCount(info[key].get<std::int64_t>(), noun);
  };
  std::cout << count("events", "event") << " of " << count("ranks", "rank") << " over "
            << traces::describeDuration(info["duration_ns"]) << ", "
            << count("ring_steps", "ring step") << "\n"
            << count("tensors", "tensor") << ", " << count("shards", "shard") << ", "
            << count("diffs", "diff") << ", " << traces::describeBytes(info["bytes"]) << "\n";
  if (info["ended"]["how"] == "stopped") std::cout << "the run was stopped\n";
  if (info.contains("dropped_events"))
    std::cout << count("dropped_events", "event") << " dropped, "
              << count("dropped_tensors", "tensor") << " without values\n";
  for (const auto& problem : info["problems"])
    std::cout << "note: " << problem.get<std::string>() << "\n";
}

/// Prints how an imported recording was made from another tool's files, and what it lacks.
void printImported(const traces::Trace& trace) {
  const auto imported = traces::importedFrom(trace);
  if (!imported) return;
  std::cout << traces::describe(*imported) << "\n";
  for (const std::string& stands : imported->standing) std::cout << stands << "\n";
  for (const std::string& lack : imported->lacks) std::cout << "note: " << lack << "\n";
}

}  // namespace

void defineInfo(CLI::App& command, int&) {
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false), check = std::make_shared<bool>(false);
  command.add_option("TRACE", *path, "A .rscope file")->required();
  command.add_flag("--json", *json, "Print as JSON");
  command.add_flag("--check", *check,
                   "Decode all events and list all damage. Without this option, events are counted "
                   "by the file's index");
  command.callback([=] {
    const auto trace = traces::openTrace(*path);
    if (*check) trace->readEvents();  // counts what is present, not what the index says
    const auto info = describe(*trace, *path);
    if (*json) {
      std::cout << info.dump(2) << "\n";
      return;
    }
    printText(info, knowsAttention(*trace));
    printImported(*trace);
    if (const std::string unwatched = traces::describeUnwatched(*trace); !unwatched.empty())
      std::cout << "note: " << unwatched << "\n";
    for (const traces::Hang& hang : traces::findHangs(*trace))
      std::cout << "hang: " << traces::describe(hang) << "\n";
  });
}

}  // namespace ringscope::app
