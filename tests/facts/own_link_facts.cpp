// SPDX-License-Identifier: Apache-2.0
// Checks messages, waits and collectives of the own-device axis on any link. The checks use the
// recorded events alone, so they also hold when two orders are possible.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/facts/own_clock_facts.h"

namespace ringscope::facts {

using traces::Event;
using traces::EventKind;

namespace {

/// A wait ends only after the message or collective that it waits for has arrived.
void expectWaits(const std::vector<Event>& events) {
  std::map<std::pair<int, std::uint32_t>, std::int64_t> arrived;
  for (const Event& event : events)
    if (event.kind == EventKind::kReceive)
      arrived[{event.group.value(), event.exchange}] =
          std::max(arrived[{event.group.value(), event.exchange}], event.end_ns);
  for (const Event& event : events)
    if (event.kind == EventKind::kWait) {
      EXPECT_GE(event.end_ns, (arrived[{event.group.value(), event.exchange}]))
          << traces::describe(event.place);
    }
}

/// Both ends of a message are the same stretch, and no shorter than its bytes take.
void expectMessages(const viz::OwnClock& clock) {
  std::map<std::uint64_t, Event> sent;
  std::size_t received = 0;
  for (const auto& events : clock.events)
    for (const Event& event : events)
      if (event.kind == EventKind::kSend) sent[event.flow] = event;
  const traces::Link& link = clock.hardware.link;
  for (const auto& events : clock.events)
    for (const Event& event : events) {
      if (event.kind != EventKind::kReceive) continue;
      ++received;
      ASSERT_TRUE(sent.contains(event.flow));
      const Event& from = sent[event.flow];
      EXPECT_EQ(from.peer, event.rank);
      EXPECT_EQ(from.begin_ns, event.begin_ns);
      EXPECT_EQ(from.end_ns, event.end_ns);
      EXPECT_GE(event.end_ns - event.begin_ns,
                wireMeant(link, event.bytes) + std::llround(link.latency_us * 1000));
    }
  EXPECT_EQ(received, sent.size());
}

/// All members leave at once, an all-reduce of their group after the last has come.
void expectCollectives(const traces::Trace& trace, const viz::OwnClock& clock) {
  std::map<std::uint64_t, std::vector<Event>> members;
  for (const auto& events : clock.events)
    for (const Event& event : events)
      if (event.kind == EventKind::kCollective) members[event.flow].push_back(event);
  for (const auto& [flow, events] : members) {
    const auto group =
        std::ranges::find(trace.groups(), events.front().group, &traces::GroupRecord::id);
    ASSERT_NE(group, trace.groups().end());
    EXPECT_EQ(events.size(), group->members.size());
    const auto& hardware = clock.hardware;
    const bool tp = group->axis == traces::GroupAxis::kTp && hardware.tp_link;
    const std::int64_t took =
        allReduceMeant(tp ? *hardware.tp_link : hardware.link, events.front().bytes,
                       static_cast<int>(group->members.size()), hardware.floors.collective_us);
    const std::int64_t last = std::ranges::max(events, {}, &Event::begin_ns).begin_ns;
    for (const Event& event : events) EXPECT_EQ(event.end_ns, last + took);
  }
}

}  // namespace

void expectMovement(const OwnStep& step) {
  for (const auto& events : step.clock.events) expectWaits(events);
  expectMessages(step.clock);
  expectCollectives(step.trace, step.clock);
}

}  // namespace ringscope::facts
