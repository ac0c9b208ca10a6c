// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::test {

/// Returns the events of one training step of a small ring: `layers` forward and backward. Each
/// rank attends and sends one block per ring step, for a microsecond each.
inline std::vector<traces::Event> eventsOfStep(int train_step, int ranks, int layers) {
  std::vector<traces::Event> events;
  std::int64_t now = std::int64_t{1000} * (1 + train_step * 2 * layers * ranks);
  auto pass = [&](int layer, traces::Direction direction) {
    for (int step = 0; step < ranks; ++step, now += 1000)
      for (int rank = 0; rank < ranks; ++rank) {
        traces::Event event;
        event.place = {train_step, traces::Layer::of(layer), direction, traces::RingStep::of(step)};
        event.rank = traces::WorldRank::of(rank);
        event.source_rank = traces::WorldRank::of((rank - step + ranks) % ranks);
        event.begin_ns = event.start_ns = now + std::int64_t{10} * rank;
        event.end_ns = now + 800;
        event.q_end = event.k_end = 16;
        events.push_back(event);
        if (step + 1 == ranks) continue;
        event.kind = traces::EventKind::kSend;
        event.payload = traces::Payload::kKv;
        event.peer = traces::WorldRank::of((rank + 1) % ranks);
        event.bytes = 2048;
        events.push_back(event);
      }
  };
  for (int layer = 0; layer < layers; ++layer) pass(layer, traces::Direction::kForward);
  for (int layer = layers; layer-- > 0;) pass(layer, traces::Direction::kBackward);
  return events;
}

inline traces::Chunk makeChunk(const std::vector<traces::Event>& events) {
  traces::Chunk chunk;
  chunk.rows = static_cast<std::uint32_t>(events.size());
  chunk.body = traces::encodeRows<traces::Event>(events);
  return chunk;
}

/// Returns a recording of events alone, as a sparse recording has them.
inline std::shared_ptr<traces::Trace> smallRun(int steps, int ranks, int layers) {
  auto trace = std::make_shared<traces::Trace>();
  for (int step = 0; step < steps; ++step) trace->add(makeChunk(eventsOfStep(step, ranks, layers)));
  return trace;
}

}  // namespace ringscope::test
