// SPDX-License-Identifier: Apache-2.0
// Recordings that lack what a model needs: a case's own, with some of its events spoiled.
#include <gtest/gtest.h>

#include <functional>

#include "tests/facts/drawing.h"
#include "tests/facts/own_clock_facts.h"
#include "traces/format/schema/chunk.h"

namespace ringscope::facts {
namespace {

using traces::Chunk;
using traces::Event;
using traces::EventKind;

/// Changes an event, and says whether it is kept.
using Spoil = std::function<bool(Event&)>;

Spoil drawSpoil(const Case& c, std::mt19937& random) {
  const int rank = drawn(random, 0, c.groups() * c.cp - 1);
  const auto seldom = [&random] { return random() % 16 == 0; };
  const auto links = [](const Event& e) {
    return isUnderWay(e) || e.kind == EventKind::kCollective;
  };
  return pickOne<Spoil>(random,
                        {[rank](Event& e) { return e.rank.value() != rank; },
                         [rank](Event& e) {
                           if (e.rank.value() == rank) e.cpu_ns = 0;
                           return true;
                         },
                         [seldom](Event& e) {
                           if (seldom()) e.exchange = 0;
                           return true;
                         },
                         [seldom, links](Event& e) {
                           if (links(e) && seldom()) e.flow = 0;
                           return true;
                         },
                         [seldom](Event& e) {
                           if (e.kind != EventKind::kPause && seldom()) e.pending = 1;
                           return true;
                         },
                         [seldom, links](Event& e) { return !links(e) || !seldom(); },
                         [links](Event& e) { return !links(e) && e.kind != EventKind::kWait; },
                         [seldom](Event& e) {
                           if (e.kind == EventKind::kAttend && seldom())
                             e.clock = traces::Clock::kDevice;
                           return true;
                         }});
}

Chunk spoiled(const Chunk& chunk, const Spoil& spoil) {
  std::vector<Event> kept;
  for (Event& event : traces::decodeRows<Event>(chunk))
    if (spoil(event)) kept.push_back(event);
  Chunk changed = traces::makeChunk<Event>(std::span<const Event>(kept));
  changed.seq = chunk.seq;
  changed.rank = chunk.rank;
  changed.checksum = traces::computeChecksum(changed);
  return changed;
}

}  // namespace

void expectSpoiled(const Case& c, std::mt19937& random) {
  traces::Trace trace;
  const Spoil spoil = drawSpoil(c, random);
  for (const Chunk& chunk : c.chunks)
    if (chunk.kind != traces::ChunkKind::kSummaries)  // of what the events were
      trace.add(chunk.kind == traces::ChunkKind::kEvents ? spoiled(chunk, spoil) : chunk);
  SCOPED_TRACE("spoiled");
  for (int step = 0; step < c.steps; ++step) expectWhyNoModel(trace, step);
}

}  // namespace ringscope::facts
