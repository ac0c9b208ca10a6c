// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/run_words.h"

#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/report/sharing_words.h"
#include "traces/format/trace/imported.h"
#include "traces/format/trace/shared_cores.h"
#include "traces/format/trace/trace.h"
#include "traces/plan/run_rules.h"

namespace ringscope::viz {
namespace {

using traces::describeCount;

/// Counts the ranks with recorded events. A file of one rank has one of many.
int recordedRanks(const traces::Trace& trace) {
  int ranks = 0;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    ranks += trace.eventCount(WorldRank::of(rank)) > 0;
  return ranks;
}

std::string ranksText(const traces::Trace& trace) {
  const int ranks = recordedRanks(trace);
  const traces::RunSpec* run = trace.run();
  if (run && ranks < run->worldSize())
    return std::to_string(ranks) + " of " + describeCount(run->worldSize(), "rank");
  if (!run || !traces::sharesCores(trace)) return describeCount(ranks, "rank");
  return describeCount(ranks, "rank") + " on " + describeCount(run->cores, "core") +
         " (virtual: overlap is the scheduler’s)";
}

std::string worstText(const traces::DiffRecord* worst) {
  if (!worst) return "not compared with unsharded attention";
  return std::string(traces::diverges(*worst) ? "▲ " : "") + "worst of the run " +
         traces::describeMultiple(worst->ratio) + " limit (" + traces::describe(*worst) + ")";
}

}  // namespace

std::string runHeadline(const traces::Trace& trace, bool live) {
  const traces::RunSpec* run = trace.run();
  if (!run && live) return "a run is starting";
  if (!run) {
    const auto imported = traces::importedFrom(trace);
    return imported ? describe(*imported) : "";
  }
  const std::string words = run->model.name + ", " + describeCount(run->model.layers, "layer") +
                            " · " + describeCount(run->seq_len, "token") + " · " +
                            describeCount(run->worldSize(), "rank") + " · ";
  const auto sharing = traces::describeSharing(trace);
  if (!sharing) return words + "no attention recorded";
  return words + sharing->strategy.value_or("sharing not known") + ", " +
         name(traces::chosenBalance(*run)) + ", " + sharing->mask.value_or("mask not known");
}

std::string runStatus(const traces::Trace& trace, const StatusSources& sources) {
  std::string words = sources.live.value_or("recorded");
  if (trace.worldSize() == 0) return words;
  const auto say = [&words](const std::string& part) { words += " · " + part; };
  say(ranksText(trace));
  say(describeCount(static_cast<std::int64_t>(trace.eventCount()), "event"));
  if (const auto& end = trace.end())  // said at the end alone
    say(describeCount(static_cast<std::int64_t>(end->dropped_events)) + " dropped");
  say(worstText(sources.worst.overall(trace)));
  if (sources.diagnosis && !sources.diagnosis->findings().empty())
    say(describeCount(std::ssize(sources.diagnosis->findings()), "finding"));
  return words;
}

}  // namespace ringscope::viz
