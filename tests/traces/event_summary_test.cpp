// SPDX-License-Identifier: Apache-2.0
// Summaries of chunks that disagree with the chunk.
#include "traces/format/schema/event_summary.h"

#include <gtest/gtest.h>

#include "tests/support/chunks_of_steps.h"

namespace ringscope::traces {
namespace {

using test::CountingSource;
using test::eventsFor;
using test::kStages;
using test::placeFor;

/// Returns a recording of one chunk whose summary `lie` has changed.
std::shared_ptr<CountingSource> withSummary(const std::vector<Event>& events,
                                            const std::function<void(EventSummary&)>& lie) {
  auto source = std::make_shared<CountingSource>();
  Chunk chunk = makeChunk(std::span<const Event>(events));
  chunk.seq = 1;
  chunk.checksum = computeChecksum(chunk);
  EventSummary summary = summarizeEvents(events);
  lie(summary);
  Chunk of_it = summaryChunk(chunk, summary);
  of_it.seq = 2;
  of_it.checksum = computeChecksum(of_it);
  source->add(chunk);
  source->add(of_it);
  return source;
}

bool saysSo(const Trace& trace, const std::string& what) {
  return std::ranges::any_of(trace.problems(),
                             [&](const auto& s) { return s.find(what) != std::string::npos; });
}

TEST(HostileSummaryTest, TheChunkOverridesAFalseSummaryWhichIsReported) {
  const auto trace = readTrace(withSummary(eventsFor(0, 0), [](EventSummary& summary) {
    for (PlaceCount& at : summary.ranks[0].places) at.place.train_step += 7;
    summary.ranks[0].end_ns = 900'000;
  }));
  EXPECT_EQ(trace->moments().front(), placeFor(7, 0)) << "as claimed";
  EXPECT_TRUE(trace->eventsAt(placeFor(7, 0), WorldRank::of(0)).empty());
  EXPECT_TRUE(saysSo(*trace, "holds other events than its summary says"));
  EXPECT_EQ(trace->eventsAt(placeFor(0, 0), WorldRank::of(0)).size(), 2u);
  EXPECT_EQ(trace->endNs(), 800);
  trace->readEvents();
  EXPECT_EQ(trace->moments().front(), placeFor(0, 0));
  EXPECT_EQ(trace->moments().size(), std::size_t{kStages});
}

TEST(HostileSummaryTest, EventsOfAnotherRankThanClaimedAreThatRanks) {
  const auto trace = readTrace(withSummary(
      eventsFor(3, 0), [](EventSummary& summary) { summary.ranks[0].rank = WorldRank::of(1); }));
  EXPECT_EQ(trace->worldSize(), 2);
  std::size_t seen = 0;
  for (const Event& event : trace->events(WorldRank::of(1))) seen += event.bytes == 0;
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(trace->worldSize(), 4);
  EXPECT_EQ(trace->eventCount(), eventsFor(3, 0).size());
  EXPECT_EQ(trace->events(WorldRank::of(3)).size(), eventsFor(3, 0).size());
  EXPECT_TRUE(saysSo(*trace, "holds other events than its summary says"));
}

struct Lie {
  const char* name;
  void (*tell)(EventSummary&);
};

class ImpossibleSummaryTest : public testing::TestWithParam<Lie> {};

TEST_P(ImpossibleSummaryTest, IsNotBelievedAndTheChunkIsDecodedAtOnce) {
  const auto source = withSummary(eventsFor(0, 0), GetParam().tell);
  const auto trace = readTrace(source);
  EXPECT_EQ(source->takeRead().size(), 1u);
  EXPECT_EQ(trace->worldSize(), 1);
  EXPECT_EQ(trace->eventCount(), eventsFor(0, 0).size());
  EXPECT_EQ(trace->endNs(), 800);
  EXPECT_EQ(trace->moments().front(), placeFor(0, 0));
  EXPECT_TRUE(saysSo(*trace, "chunk 1 (events"));
}

INSTANTIATE_TEST_SUITE_P(
    Hostile, ImpossibleSummaryTest,
    testing::Values(
        Lie{"ARankBeyondAll", [](EventSummary& s) { s.ranks[0].rank = WorldRank::of(32767); }},
        Lie{"AnEndBeyondAllTime",
            [](EventSummary& s) { s.ranks[0].end_ns = std::numeric_limits<std::int64_t>::max(); }},
        Lie{"AnEndBeforeTheBegin", [](EventSummary& s) { s.ranks[0].end_ns = -1; }},
        Lie{"MoreEventsThanRows", [](EventSummary& s) { ++s.ranks[0].events; }},
        Lie{"MorePendingThanEvents", [](EventSummary& s) { s.ranks[0].pending = 4000000000u; }},
        Lie{"CountsThatOverflow",
            [](EventSummary& s) {
              s.ranks[0].events = 4294967295u;
              for (PlaceCount& at : s.ranks[0].places) at.events = 4294967295u;
            }},
        Lie{"PlacesOutOfOrder",
            [](EventSummary& s) { std::swap(s.ranks[0].places[0], s.ranks[0].places[1]); }},
        Lie{"APlaceThatCannotBe",
            [](EventSummary& s) { s.ranks[0].places[0].place.train_step = -5; }},
        Lie{"ARankTwice", [](EventSummary& s) { s.ranks.push_back(s.ranks[0]); }},
        Lie{"NoRank", [](EventSummary& s) { s.ranks.clear(); }}),
    [](const auto& lie) { return std::string(lie.param.name); });

TEST(HostileSummaryTest, IgnoresASummaryOfOtherContent) {
  const auto source = withSummary(eventsFor(0, 0), [](EventSummary&) {});
  Chunk other = makeChunk(std::span<const Event>(eventsFor(0, 1)));
  other.seq = 1;
  other.checksum = computeChecksum(other);
  source->add(other);
  const auto trace = readTrace(source);
  EXPECT_EQ(source->takeRead().size(), 1u) << "decoded at once";
  EXPECT_EQ(trace->moments().front(), placeFor(1, 0));
}

TEST(HostileSummaryTest, AChunkThatIsDamagedIsNamedWhenItIsNeeded) {
  const auto source = withSummary(eventsFor(0, 0), [](EventSummary&) {});
  Chunk damaged = source->read(1);
  damaged.body.back() ^= 1;
  source->add(damaged);
  const auto trace = readTrace(source);
  EXPECT_FALSE(saysSo(*trace, "checksum"));
  EXPECT_TRUE(trace->eventsAt(placeFor(0, 0), WorldRank::of(0)).empty());
  EXPECT_TRUE(saysSo(*trace, "chunk 1 (events) is damaged: its checksum differs"));
  EXPECT_EQ(trace->eventCount(), 0u);
}

}  // namespace
}  // namespace ringscope::traces
