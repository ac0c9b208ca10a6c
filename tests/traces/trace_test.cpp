// SPDX-License-Identifier: Apache-2.0
#include "traces/query/trace.h"

#include <gtest/gtest.h>

#include "traces/diff/summary.h"
#include "traces/doctor/diagnosis.h"
#include "traces/mistakes/catalogue.h"
#include "traces/query/flows.h"
#include "traces/query/moment_index.h"

namespace ringscope::traces {
namespace {

Chunk chunkOf(std::vector<Event> events) {
  Chunk chunk;
  chunk.rows = static_cast<std::uint32_t>(events.size());
  chunk.body = encodeEvents(events);
  return chunk;
}

Event at(int rank, Place place, EventKind kind = EventKind::kAttend) {
  Event e;
  e.rank = static_cast<std::int16_t>(rank);
  e.place = place;
  e.kind = kind;
  return e;
}

TEST(TraceTest, MomentsAreInTheOrderOfVisitingWhateverTheOrderOfArrival) {
  Trace trace;
  const Place first{0, 0, Direction::kForward, 0}, second{0, 1, Direction::kForward, 0};
  const Place third{0, 1, Direction::kBackward, 1}, fourth{0, 0, Direction::kBackward, 0},
      fifth{1, 0, Direction::kForward, 0};
  trace.add(chunkOf(
      {at(1, fourth), at(0, second), at(2, fifth), at(0, first), at(0, third), at(1, first)}));
  EXPECT_EQ(trace.moments(), (std::vector<Place>{first, second, third, fourth, fifth}));
  EXPECT_EQ(trace.worldSize(), 3);
}

TEST(TraceTest, AMalformedChunkLeavesTheTraceAsItWas) {
  Trace trace;
  Chunk bad = chunkOf({at(0, {0, 0, Direction::kForward, 0}), at(-5, {})});
  EXPECT_THROW(trace.add(bad), Error);
  EXPECT_EQ(trace.eventCount(), 0u);
}

TEST(MomentIndexTest, FollowsAGrowingTrace) {
  Trace trace;
  MomentIndex index;
  const Place place{0, 0, Direction::kForward, 1};
  trace.add(chunkOf({at(0, place)}));
  index.update(trace);
  EXPECT_EQ(index.eventsOf(place, 0).size(), 1u);
  EXPECT_TRUE(index.eventsOf(place, 3).empty());
  trace.add(chunkOf({at(0, place), at(3, place)}));
  index.update(trace);
  EXPECT_EQ(index.eventsOf(place, 0).size(), 2u);
  EXPECT_EQ(index.eventsOf(place, 3).size(), 1u);
}

TEST(FlowsTest, SendsFindTheirReceivesAndLonelyOnesAreKept) {
  Trace trace;
  auto message = [](int rank, int peer, EventKind kind, std::uint64_t flow) {
    Event e = at(rank, {0, 0, Direction::kForward, 0}, kind);
    e.peer = static_cast<std::int16_t>(peer);
    e.flow = flow;
    e.payload = Payload::kKv;
    return e;
  };
  trace.add(chunkOf({message(0, 1, EventKind::kSend, 7), message(1, 0, EventKind::kReceive, 7),
                     message(1, 0, EventKind::kSend, 8)}));
  const auto flows = matchFlows(trace, Payload::kKv);
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].send->peer, flows[0].receive->rank);
  EXPECT_EQ(flows[1].receive, nullptr);
}

TEST(DiffSummaryTest, TheFirstDivergenceIsTheEarliestInTheOrderOfDependence) {
  Trace trace;
  auto diff = [](bool isolated, int layer, Direction direction, const char* tensor,
                 double multiple) {
    DiffRecord d;
    d.isolated = isolated;
    d.place = {0, static_cast<std::int16_t>(layer), direction, -1};
    d.tensor = tensor;
    d.multiple = multiple;
    return d;
  };
  std::vector<DiffRecord> diffs = {
      diff(false, 0, Direction::kForward, "q", 9000), diff(true, 0, Direction::kBackward, "dk", 50),
      diff(true, 1, Direction::kBackward, "dk", 40), diff(true, 1, Direction::kForward, "out", 1.2),
      diff(true, 1, Direction::kForward, "lse", std::numeric_limits<double>::quiet_NaN())};
  Chunk chunk{1, ChunkKind::kDiffs, -1, 0, static_cast<std::uint32_t>(diffs.size()),
              0, encodeDiffs(diffs)};
  trace.add(chunk);
  const auto summary = summarize(trace);
  EXPECT_EQ(summary.compared, 5);
  EXPECT_EQ(summary.diverging, 4) << "NaN diverges";
  EXPECT_EQ(summary.first_divergence->tensor, "lse");
  EXPECT_EQ(divergences(trace)[1]->place.layer, 1) << "backward visits layers in reverse";
  EXPECT_EQ(divergences(trace).back()->tensor, "q") << "end to end comes after isolated";
  EXPECT_EQ(describeMultiple(8400.2), "8,400×");
  EXPECT_EQ(describeMultiple(0.94), "0.9×");
  EXPECT_EQ(describeMultiple(12), "12×");
  EXPECT_EQ(describeMultiple(583265), "583 k×");
  EXPECT_EQ(describeMultiple(7775751), "7.8 M×");
}

TEST(DoctorTest, ASparseTraceSaysWhatWouldSettleEachRule) {
  const auto diagnosis = diagnose(Trace());
  EXPECT_TRUE(diagnosis.findings().empty());
  for (const auto& entry : diagnosis.entries) {
    EXPECT_EQ(entry.result.verdict, Verdict::kNotObservable) << entry.rule;
    EXPECT_FALSE(entry.result.would_settle.empty()) << entry.rule;
  }
}

TEST(CatalogueTest, EveryRuleIsAboutAMistakeOfTheCatalogue) {
  EXPECT_EQ(mistakeCatalogue().size(), 46u);
  for (const Rule& rule : rules()) EXPECT_NE(findMistake(rule.id), nullptr) << rule.id;
  EXPECT_EQ(findMistake("no_such_mistake"), nullptr);
}

}  // namespace
}  // namespace ringscope::traces
