// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/counting_source.h"
#include "tests/support/place_at.h"
#include "traces/format/trace/trace.h"

namespace ringscope::test {

using traces::Event;
using traces::Place;

inline Place placeFor(int train_step, int stage) {
  return placeAt(train_step, 0, traces::Direction::kForward, stage);
}

inline Event eventAt(int rank, const Place& place, std::int64_t begin_ns, std::int64_t end_ns) {
  Event event;
  event.rank = traces::WorldRank::of(rank);
  event.place = place;
  event.begin_ns = event.start_ns = begin_ns;
  event.end_ns = end_ns;
  return event;
}

inline constexpr int kRanks = 2, kSteps = 100, kStages = 4;
inline constexpr std::int64_t kStepNs = 1000;

/// Returns one chunk of events per rank and training step, with two events at each of its ring
/// steps.
inline std::vector<Event> eventsFor(int rank, int train_step) {
  std::vector<Event> events;
  for (int stage = 0; stage < kStages; ++stage)
    for (int i = 0; i < 2; ++i) {
      const std::int64_t begin = train_step * kStepNs + stage * 200 + i * 100;
      events.push_back(eventAt(rank, placeFor(train_step, stage), begin, begin + 100));
    }
  return events;
}

inline std::shared_ptr<CountingSource> twoHundredChunks() {
  auto source = std::make_shared<CountingSource>();
  for (int step = 0; step < kSteps; ++step)
    for (int rank = 0; rank < kRanks; ++rank)
      source->add(std::span<const Event>(eventsFor(rank, step)));
  source->add(traces::EndRecord{});
  return source;
}

}  // namespace ringscope::test
