// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "traces/exchange/import/kineto/rank_file.h"

namespace ringscope::traces {
namespace {

Event stageOf(const RankFile& file, const Seen& seen) {
  Event event;
  event.kind = seen.stage;
  event.rank = file.rank;
  event.place.train_step = stepAt(file, seen.begin_ns);
  const bool backward = seen.names_backward || isInBackward(file, seen.thread, seen.begin_ns);
  event.place.direction = backward ? Direction::kBackward : Direction::kForward;
  event.pass = backward ? Pass::kBackward : Pass::kForward;
  event.begin_ns = event.start_ns = seen.begin_ns;
  event.end_ns = seen.end_ns;
  return event;
}

}  // namespace

std::vector<Event> findStages(RankFile& file) {
  std::vector<Event> stages;
  std::ranges::stable_sort(file.operators, {}, &Seen::begin_ns);
  std::map<std::int64_t, std::int64_t> busy_until;  // by thread
  for (const Seen& seen : file.operators) {
    if (file.has_kernels) break;
    auto& until =
        busy_until.try_emplace(seen.thread, std::numeric_limits<std::int64_t>::min()).first->second;
    if (seen.begin_ns < until) continue;  // nested in another operator
    until = seen.end_ns;
    stages.push_back(stageOf(file, seen));
  }
  for (const Seen& kernel : file.attention_kernels) {
    Event event = stageOf(file, kernel);
    event.clock = Clock::kDevice;
    event.queue = 1;
    stages.push_back(event);
  }
  return stages;
}

}  // namespace ringscope::traces
