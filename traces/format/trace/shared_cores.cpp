// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/shared_cores.h"

#include <set>

#include "traces/format/core/prose.h"
#include "traces/format/schema/clock_note.h"

namespace ringscope::traces {
namespace {

/// Reports whether all ranks were on one machine. Each process records the boot id of the machine
/// whose clock it uses.
bool isOnOneMachine(const Trace& trace) {
  std::set<std::string> boots;
  for (const nlohmann::json* clock : trace.notes(kClockNote)) {
    const auto boot = clock->is_object() ? clock->find("boot_id") : clock->end();
    boots.insert(boot != clock->end() && boot->is_string() ? boot->get<std::string>() : "");
  }
  return boots.size() == 1 && !boots.contains("");
}

}  // namespace

/// Reports whether virtual ranks take turns on the cores of one machine. Ranks that were started
/// one by one may be on several machines, and ranks on GPUs do not compute on cores.
bool sharesCores(const Trace& trace) {
  const RunSpec* run = trace.run();
  if (!run || run->device != Device::kCpu || run->cores <= 0) return false;
  const bool here = run->launch != Launch::kEnv || isOnOneMachine(trace);
  return here && run->worldSize() > run->cores;
}

std::string sharedCoresCaveat(const Trace& trace) {
  if (!sharesCores(trace)) return "";
  return "As recorded: " + describeCount(trace.run()->worldSize(), "virtual rank") +
         " take turns on " + describeCount(trace.run()->cores, "core") +
         ", so waits and overlap are the scheduler's, not a cluster's.";
}

}  // namespace ringscope::traces
