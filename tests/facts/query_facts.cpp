// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>

#include "tests/facts/scene_facts.h"
#include "traces/analysis/sql/query.h"
#include "traces/exchange/tables/cell_text.h"
#include "viz/views/query/query_scene.h"

namespace ringscope::facts {
namespace {

using traces::EventKind;
using traces::WorldRank;

viz::QueryAnswer asked(const Case& c, const std::string& sql) {
  viz::QueryAnswer answer;
  traces::runQuery(*c.trace, sql,
                   {[&](const std::vector<std::string>& columns) { answer.columns = columns; },
                    [&](std::span<const traces::Cell> cells) {
                      answer.rows.emplace_back(cells.begin(), cells.end());
                      return true;
                    }});
  return answer;
}

std::int64_t wholeIn(const viz::QueryAnswer& answer, std::size_t row, const char* column) {
  const auto at = std::ranges::find(answer.columns, column) - answer.columns.begin();
  const auto* cell =
      std::get_if<std::int64_t>(&answer.rows.at(row).at(static_cast<std::size_t>(at)));
  return cell ? *cell : -1;
}

std::int64_t wholeOf(const Case& c, const std::string& sql) {
  const auto answer = asked(c, sql);
  const auto* cell = std::get_if<std::int64_t>(&answer.rows.at(0).at(0));
  return cell ? *cell : 0;  // the sum of none is none
}

std::string placeFor(const Look& look, bool of_layer, bool of_stage) {
  std::string words = std::to_string(look.step);
  if (of_layer) words += " " + std::to_string(look.layer) + (look.backward ? " b" : " f");
  return of_stage ? words + " " + std::to_string(look.ring_step) : words;
}

/// A row leads from any other place to the place of an event that matches the row.
void expectLeads(const Case& c, const viz::QueryAnswer& answer, std::size_t row) {
  viz::Cursor from;
  from.place = {77, traces::Layer::of(66), traces::Direction::kBackward, traces::RingStep::of(55)};
  const auto leads = viz::rowCursor(answer, row, from);
  ASSERT_TRUE(leads);
  EXPECT_EQ(leads->rank.value(), wholeIn(answer, row, "rank"));
  const auto& events = c.trace->events(leads->rank);
  EXPECT_TRUE(std::ranges::any_of(events, [&](const traces::Event& event) {
    traces::Place place = event.place;
    if (place.layer.isNone()) place.layer = from.place.layer;
    if (place.stage.isNone()) place.stage = from.place.stage;
    return event.begin_ns == wholeIn(answer, row, "begin_ns") && place == leads->place;
  })) << traces::describe(leads->place);
}

/// Checks the answers to the three questions about the viewed place, by rank and times, and the
/// place to which a row leads.
void expectEventsOfPlace(const Case& c, const Look& look, std::mt19937& random) {
  const viz::Cursor cursor = look.cursor(c);
  for (std::size_t question = 0; question < 3; ++question) {
    const bool of_stage = question == 0, of_layer = question <= 1;
    SCOPED_TRACE(placeFor(look, of_layer, of_stage));
    std::multiset<std::array<std::int64_t, 3>> meant, found;
    for (int world = 0; world < c.groups() * c.cp; ++world)
      for (const auto& event : c.trace->events(WorldRank::of(world))) {
        const bool is_here = event.place.train_step == look.step &&
                             (!of_layer || (event.place.layer == cursor.place.layer &&
                                            event.place.direction == cursor.place.direction)) &&
                             (!of_stage || event.place.stage == cursor.place.stage);
        if (is_here) meant.insert({world, event.begin_ns, event.end_ns - event.begin_ns});
      }
    const auto answer = asked(c, viz::questionsAt(cursor.place)[question].sql);
    for (std::size_t row = 0; row < answer.rows.size(); ++row)
      found.insert({wholeIn(answer, row, "rank"), wholeIn(answer, row, "begin_ns"),
                    wholeIn(answer, row, "ns")});
    ASSERT_EQ(found, meant);
    if (!answer.rows.empty()) expectLeads(c, answer, random() % answer.rows.size());
  }
}

/// Messages between two ranks and their bytes are the plan's.
void expectSentHops(const Case& c) {
  if (c.mistake == "dropped_hop") return;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> meant, found;
  for (int step = 0; step < c.steps; ++step)
    for (int group = 0; group < c.groups(); ++group) {
      const PlanOracle& oracle = c.oracle(step, group);
      for (int rank = 0; rank < c.cp; ++rank)
        for (int stage = 0; stage < oracle.ringSteps(); ++stage)
          for (const bool backward : {false, true})
            for (const Hop& hop : oracle.hops(rank, stage, backward)) {
              if (hop.from == hop.to) continue;
              meant[hop.payload].first += c.layers;
              meant[hop.payload].second += hop.bytes * c.layers;
            }
    }
  const auto answer = asked(c,
                            "SELECT payload, count(*) AS hops, sum(bytes) AS bytes FROM hops "
                            "WHERE layer IS NOT NULL GROUP BY payload");
  for (std::size_t row = 0; row < answer.rows.size(); ++row)
    found[traces::asText(answer.rows[row][0], "")] = {wholeIn(answer, row, "hops"),
                                                      wholeIn(answer, row, "bytes")};
  EXPECT_EQ(found, meant);
}

void expectRowCounts(const Case& c) {
  std::int64_t events = 0, samples = 0, attends = 0;
  for (int world = 0; world < c.groups() * c.cp; ++world) {
    for (const auto& event : c.trace->events(WorldRank::of(world))) {
      ++events;
      attends += event.kind == EventKind::kAttend;
    }
    samples += std::ssize(c.trace->memory(WorldRank::of(world)));
  }
  EXPECT_EQ(wholeOf(c, "SELECT count(*) FROM events"), events);
  EXPECT_EQ(wholeOf(c,
                    "SELECT sum(pieces) FROM (SELECT count(*) AS pieces FROM events "
                    "WHERE kind = 'attend' GROUP BY rank)"),
            attends);
  EXPECT_EQ(wholeOf(c, "SELECT count(*) FROM memory"), samples);
  EXPECT_EQ(wholeOf(c, "SELECT count(*) FROM tensors"), std::ssize(c.trace->tensors()));
  EXPECT_EQ(wholeOf(c, "SELECT count(*) FROM diffs"), std::ssize(c.trace->diffs()));
  std::int64_t wrong = 0;
  for (const auto& diff : c.trace->diffs()) wrong += !(diff.ratio <= 1);
  EXPECT_EQ(wholeOf(c, "SELECT count(*) FROM diffs WHERE NOT ratio <= 1 OR ratio IS NULL"), wrong);
}

/// A buffer that was cut: each rank's share is what the plan deals it.
void expectShares(const Case& c, const Look& look) {
  const auto answer = asked(c,
                            "SELECT rank, global_from_local FROM shards WHERE buffer = 'input_ids' "
                            "AND train_step = " +
                                std::to_string(look.step) + " ORDER BY rank");
  if (!c.train || !c.stats) {
    EXPECT_TRUE(answer.rows.empty());
    return;
  }
  ASSERT_EQ(std::ssize(answer.rows), c.groups() * c.cp);
  for (std::size_t row = 0; row < answer.rows.size(); ++row) {
    const auto world = static_cast<int>(wholeIn(answer, row, "rank"));
    const auto& own = c.oracle(look.step, world / c.cp).own(world % c.cp);
    const auto runs = nlohmann::json::parse(traces::asText(answer.rows[row][1], ""));
    std::vector<int> tokens;
    for (const auto& run : runs)
      for (int token = run.at("begin"); token < run.at("end"); ++token) tokens.push_back(token);
    EXPECT_EQ(tokens, own) << "rank " << world;
  }
}

}  // namespace

void expectQueries(const Case& c, const Look& look, std::mt19937& random) {
  expectEventsOfPlace(c, look, random);
  if (random() % 4) return;  // what follows is the same wherever one looks
  expectSentHops(c);
  expectRowCounts(c);
  expectShares(c, look);
}

}  // namespace ringscope::facts
