// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/report/summary.h"

#include "traces/analysis/report/sharing_words.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/ending.h"
#include "traces/format/trace/hang.h"
#include "traces/format/trace/imported.h"
#include "traces/format/trace/lacks.h"

namespace ringscope::traces {
namespace {

/// Describes how attention was sharded: "train · ring · cp 4 · balance none · …".
std::string runLine(const Trace& trace, const nlohmann::json& run) {
  const auto sharing = describeSharing(trace);
  if (!sharing) return run.value("command", "") + " · no attention recorded";
  const std::string balance = run["balance"].is_string() ? run.value("balance", "") : "by mask";
  return run.value("command", "") + " · " + sharing->strategy.value_or("sharing not known") +
         " · cp " + std::to_string(run.value("cp", 0)) + " · balance " + balance + " · mask " +
         sharing->mask.value_or("not known") + " · " + run.value("dtype", "") + " · length " +
         std::to_string(run.value("seq_len", std::int64_t{0})) + " · capture " +
         run.value("capture", "");
}

}  // namespace

nlohmann::json summarize(const Trace& trace, const std::string& path) {
  const Ending ending = findEnding(trace);
  nlohmann::json json = {{"path", toUtf8(path)},
                         {"bytes", sizeOfRecording(path)},
                         {"format", kFormatVersion},
                         {"run", trace.run() ? toJson(*trace.run()) : nlohmann::json()},
                         {"ranks", trace.worldSize()},
                         {"events", trace.eventCount()},
                         {"tensors", trace.tensors().size()},
                         {"shards", trace.shards().size()},
                         {"diffs", trace.diffs().size()},
                         {"ring_steps", trace.moments().size()},
                         {"duration_ns", trace.endNs()},
                         {"complete", ending.whole()},
                         {"ended", {{"how", name(ending.how)}, {"reason", ending.reason}}},
                         {"problems", listRemarks(trace)}};
  if (const auto imported = importedFrom(trace))
    json["imported"] = {{"format", imported->format},
                        {"collectives", imported->collectives},
                        {"messages", imported->messages},
                        {"unmatched_collectives", imported->unmatched_collectives},
                        {"unmatched_messages", imported->unmatched_messages},
                        {"standing", imported->standing},
                        {"lacks", imported->lacks}};
  for (const Hang& hang : findHangs(trace)) json["hangs"].push_back(toJson(hang));
  if (trace.end()) {
    json["dropped_events"] = trace.end()->dropped_events;
    json["dropped_tensors"] = trace.end()->dropped_tensors;
  }
  return json;
}

std::vector<std::string> summaryLines(const Trace& trace, const nlohmann::json& summary) {
  const auto count = [&summary](const char* key, const char* noun) {
    return describeCount(summary[key].get<std::int64_t>(), noun);
  };
  std::vector<std::string> lines;
  if (summary["run"].is_object()) lines.push_back(runLine(trace, summary["run"]));
  lines.push_back(count("events", "event") + " of " + count("ranks", "rank") + " over " +
                  describeDuration(summary["duration_ns"]) + ", " +
                  count("ring_steps", "ring step"));
  lines.push_back(count("tensors", "tensor") + ", " + count("shards", "shard") + ", " +
                  count("diffs", "diff") + ", " + describeBytes(summary["bytes"]));
  if (summary["ended"]["how"] == "stopped") lines.emplace_back("the run was stopped");
  if (summary.contains("dropped_events"))
    lines.push_back(count("dropped_events", "event") + " dropped, " +
                    count("dropped_tensors", "tensor") + " without values");
  for (const auto& problem : summary["problems"])
    lines.push_back("note: " + problem.get<std::string>());
  return lines;
}

}  // namespace ringscope::traces
