// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/trace.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <set>

#include "tests/support/expect_error.h"
#include "tests/support/place_at.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/trace/flows.h"

namespace ringscope::traces {
namespace {

using test::placeAt;

Chunk makeChunk(std::vector<Event> events) {
  Chunk chunk;
  chunk.rows = static_cast<std::uint32_t>(events.size());
  chunk.body = encodeRows<Event>(events);
  return chunk;
}

Event at(int rank, Place place, EventKind kind = EventKind::kAttend) {
  Event e;
  e.rank = WorldRank::of(rank);
  e.place = place;
  e.kind = kind;
  return e;
}

TEST(TraceTest, ARunOfMoreRanksThanATraceMayHaveIsRefused) {
  EXPECT_EQ(test::makeTrace("run dp=64 tp=32 cp=2\n")->run()->worldSize(), 4096);
  EXPECT_ERROR(test::makeTrace("run dp=64 tp=64 cp=2\n"), ErrorCode::kInput,
               "8192 as dp × tp × cp");
  EXPECT_ERROR(test::makeTrace("run dp=4096 tp=4096 cp=4096\n"), ErrorCode::kInput, "as dp × tp");
}

TEST(TraceTest, MomentsAreInTheOrderOfVisitingForAnyArrivalOrder) {
  Trace trace;
  const Place first = placeAt(0, 0, Direction::kForward, 0),
              second = placeAt(0, 1, Direction::kForward, 0),
              third = placeAt(0, 1, Direction::kBackward, 1),
              fourth = placeAt(0, 0, Direction::kBackward, 0),
              fifth = placeAt(1, 0, Direction::kForward, 0);
  trace.add(makeChunk(
      {at(1, fourth), at(0, second), at(2, fifth), at(0, first), at(0, third), at(1, first)}));
  EXPECT_EQ(trace.moments(), (std::vector<Place>{first, second, third, fourth, fifth}));
  EXPECT_EQ(trace.worldSize(), 3);
}

TEST(TraceTest, AMalformedChunkLeavesTheTraceAsItWas) {
  Trace trace;
  Chunk bad = makeChunk({at(0, placeAt(0, 0, Direction::kForward, 0)), at(-5, {})});
  EXPECT_THROW(trace.add(bad), Error);
  EXPECT_EQ(trace.eventCount(), 0u);
}

TEST(TraceTest, TheEventsOfAPlaceGrowWithTheTrace) {
  Trace trace;
  const Place place = placeAt(0, 0, Direction::kForward, 1);
  trace.add(makeChunk({at(0, place)}));
  EXPECT_EQ(trace.eventsAt(place, WorldRank::of(0)).size(), 1u);
  EXPECT_TRUE(trace.eventsAt(place, WorldRank::of(3)).empty());
  trace.add(makeChunk({at(0, place), at(3, place)}));
  EXPECT_EQ(trace.eventsAt(place, WorldRank::of(0)).size(), 2u);
  EXPECT_EQ(trace.eventsAt(place, WorldRank::of(3)).size(), 1u);
}

TEST(FlowsTest, SendsFindTheirReceivesAndLonelyOnesAreKept) {
  Trace trace;
  auto message = [](int rank, int peer, EventKind kind, std::uint64_t flow) {
    Event e = at(rank, placeAt(0, 0, Direction::kForward, 0), kind);
    e.peer = WorldRank::of(peer);
    e.flow = flow;
    e.payload = Payload::kKv;
    return e;
  };
  trace.add(makeChunk({message(0, 1, EventKind::kSend, 7), message(1, 0, EventKind::kReceive, 7),
                       message(1, 0, EventKind::kSend, 8)}));
  std::vector<Flow> flows;
  for (const Flow& flow : matchFlows(trace, Payload::kKv)) flows.push_back(flow);
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].send->peer, flows[0].receive->rank);
  EXPECT_EQ(flows[1].receive, nullptr);
}

TEST(DiffSummaryTest, ANanStaysTheWorstDiff) {
  DiffRecord small, none, large;
  small.ratio = 1;
  none.ratio = std::nan("");
  large.ratio = 1e9;
  for (const auto& order : {std::vector{&small, &none, &large}, std::vector{&none, &large, &small},
                            std::vector{&large, &small, &none}}) {
    const DiffRecord* worst = nullptr;
    for (const DiffRecord* diff : order) keepWorse(worst, *diff);
    EXPECT_EQ(worst, &none);
  }
  EXPECT_FALSE(isWorse(none, none));
  EXPECT_TRUE(diverges(none));
}

TEST(DiffSummaryTest, TheFirstDivergenceIsTheEarliestInTheOrderOfDependence) {
  Trace trace;
  auto diff = [](bool isolated, int layer, Direction direction, const char* tensor,
                 double multiple) {
    DiffRecord d;
    d.isolated = isolated;
    d.place = placeAt(0, layer, direction, -1);
    d.tensor = tensor;
    d.ratio = multiple;
    return d;
  };
  std::vector<DiffRecord> diffs = {
      diff(false, 0, Direction::kForward, "q", 9000), diff(true, 0, Direction::kBackward, "dk", 50),
      diff(true, 1, Direction::kBackward, "dk", 40), diff(true, 1, Direction::kForward, "out", 0.8),
      diff(true, 1, Direction::kForward, "lse", std::numeric_limits<double>::quiet_NaN())};
  trace.add(traces::makeChunk(std::span<const DiffRecord>(diffs)));
  const auto summary = summarize(trace);
  EXPECT_EQ(summary.compared, 5);
  EXPECT_EQ(summary.diverging, 4) << "NaN diverges";
  EXPECT_EQ(summary.first_divergence->tensor, "lse");
  EXPECT_EQ(divergences(trace)[1]->place.layer, Layer::of(1))
      << "backward visits layers in reverse";
  EXPECT_EQ(divergences(trace).back()->tensor, "q") << "end to end comes after isolated";
}

TEST(TraceTest, AProblemThatComesAgainIsListedOnceWithItsCount) {
  Trace trace;
  for (int i = 0; i < 22; ++i) trace.addProblem("chunk 0 is damaged");
  trace.addProblem("the file was cut");
  EXPECT_EQ(trace.problems(),
            (std::vector<std::string>{"chunk 0 is damaged (22 times)", "the file was cut"}));
  for (int i = 0; i < 100; ++i) trace.addProblem("chunk " + std::to_string(i));
  EXPECT_EQ(trace.problems().size(), 51u);
  EXPECT_EQ(trace.problems().back(), "52 more problems are not listed");
}

TEST(DoctorTest, ASparseTraceSaysWhatWouldSettleEachRule) {
  const auto diagnosis = diagnose(Trace());
  EXPECT_TRUE(diagnosis.findings().empty());
  for (const auto& entry : diagnosis.entries) {
    EXPECT_EQ(entry.result.verdict, Verdict::kNotObservable) << entry.rule;
    EXPECT_FALSE(entry.result.would_settle.empty()) << entry.rule;
  }
}

TEST(DoctorTest, IsClearOnlyIfEverythingWasReadAndARuleCouldJudge) {
  Diagnosis diagnosis;
  diagnosis.entries = {{"missing_position_ids", clear()}};
  EXPECT_EQ(headline(diagnosis), "✓ Nothing found");
  EXPECT_TRUE(isClear(diagnosis));
  diagnosis.unread = {"the file ends in the middle of a chunk"};
  EXPECT_EQ(headline(diagnosis),
            "– Nothing found in what could be read: a part of the recording could not be read");
  EXPECT_FALSE(isClear(diagnosis));
  EXPECT_EQ(toText(diagnosis).find("✓"), std::string::npos) << toText(diagnosis);
  EXPECT_EQ(toJson(diagnosis)["unread"].size(), 1u);
  const Diagnosis blind = diagnose(Trace());
  EXPECT_FALSE(isClear(blind));
  EXPECT_EQ(headline(blind).find("✓"), std::string::npos);
  Trace damaged;
  damaged.addProblem("events are missing");
  EXPECT_EQ(diagnose(damaged).unread.size(), 1u);
}

TEST(DoctorTest, AClearRuleSaysWhatHoldsAndAnOpenOneThatItCannotTell) {
  const Diagnosis::Entry clear_rule{"missing_position_ids", clear()};
  EXPECT_EQ(headline(clear_rule), "Each rank's position ids are those of its tokens");
  const Diagnosis::Entry open_rule{"missing_position_ids", notObservable("needs position ids")};
  EXPECT_EQ(headline(open_rule),
            "Cannot tell whether each rank's position ids are those of its tokens");
}

TEST(DoctorTest, NamesTheCaptureThatARuleNeeds) {
  for (const auto& entry : diagnose(Trace()).entries) {
    const Mistake* mistake = findMistake(entry.rule);
    const std::string hint = std::string("--capture ") + name(mistake->capture);
    const bool said = entry.result.would_settle.find(hint) != std::string::npos;
    EXPECT_EQ(said, mistake->capture != CaptureNeeded::kEvents) << entry.rule;
  }
}

TEST(CatalogueTest, EveryEntryHasAllItsTexts) {
  EXPECT_EQ(mistakeCatalogue().size(), 63u);
  std::set<std::string> ids, labels;
  for (const Mistake& m : mistakeCatalogue()) {
    EXPECT_TRUE(ids.insert(m.id).second) << m.id;
    EXPECT_TRUE(labels.insert(m.label).second) << m.label;
    EXPECT_LE(m.label.size(), 34u) << "it must fit the window's panel";
    for (const auto* words :
         {&m.label, &m.title, &m.when_absent, &m.look_for, &m.reported_in, &m.view, &m.subject})
      EXPECT_FALSE(words->empty()) << m.id;
    EXPECT_TRUE(std::islower(static_cast<unsigned char>(m.when_absent[0]))) << m.id;
  }
}

TEST(CatalogueTest, EveryRuleIsAboutAMistakeOfTheCatalogue) {
  for (const Rule& rule : rules()) EXPECT_NE(findMistake(rule.id), nullptr) << rule.id;
  EXPECT_EQ(findMistake("no_such_mistake"), nullptr);
}

TEST(TraceTest, UsesNoEarlierIntentWithDocumentsInADamagedRecording) {
  Trace trace;
  IntentRecord intent;
  intent.mask = MaskKind::kDocuments;
  intent.documents = {{0, 2}, {2, 4}};
  trace.add(intent);
  trace.add(ScheduleRecord{});
  const WorldRank rank = WorldRank::of(0);
  EXPECT_NE(trace.intent(1, rank), nullptr);
  EXPECT_NE(trace.schedule(1, rank, Direction::kForward), nullptr);
  trace.addFirstProblem("a part cannot be read");
  EXPECT_EQ(trace.intent(1, rank), nullptr);
  EXPECT_EQ(trace.schedule(1, rank, Direction::kForward), nullptr);
  EXPECT_NE(trace.intent(0, rank), nullptr);
  EXPECT_NE(trace.schedule(0, rank, Direction::kForward), nullptr);
}

}  // namespace
}  // namespace ringscope::traces
