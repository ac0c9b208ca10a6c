// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>

#include "tests/facts/said.h"
#include "tests/facts/scene_facts.h"
#include "traces/analysis/diff/summary.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/position_rows.h"
#include "viz/views/compare/run_summary_scene.h"
#include "viz/views/diff/diff_scene.h"
#include "viz/views/memory/memory_scene.h"
#include "viz/views/pass/pass_scene.h"
#include "viz/views/positions/token_table_scene.h"

namespace ringscope::facts {
int usedPosition(const Case& c, const Look& look, int rank, int row) {
  const int token = c.oracle(look.step, look.group).own(rank)[static_cast<std::size_t>(row)];
  return c.mistake == "missing_position_ids" ? row : c.positionFor(look.step, look.group, token);
}

namespace {

std::int64_t wrongPositions(const Case& c, const Look& look, int rank) {
  std::int64_t wrong = 0;
  const auto& own = c.oracle(look.step, look.group).own(rank);
  for (int row = 0; row < std::ssize(own); ++row)
    wrong += usedPosition(c, look, rank, row) !=
             c.positionFor(look.step, look.group, own[static_cast<std::size_t>(row)]);
  return wrong;
}

void expectTable(const Case& c, const Look& look) {
  const auto table = viz::makeTokenTable(*c.trace, look.cursor(c));
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  const auto& own = oracle.own(look.rank);
  const bool known = c.positionsKnown(look.step, look.group);
  EXPECT_EQ(table.sequence_length, oracle.plan().length);
  ASSERT_EQ(table.cells.size(), own.size());
  for (std::size_t row = 0; row < own.size(); ++row) {
    const viz::TokenCell& cell = table.cells[row];
    EXPECT_EQ(cell.global.value(), own[row]);
    EXPECT_EQ(cell.position, usedPosition(c, look, look.rank, static_cast<int>(row)));
    EXPECT_EQ(cell.should_position.has_value(), known);
    if (known) {
      EXPECT_EQ(cell.should_position, c.positionFor(look.step, look.group, own[row]));
    }
    const auto document = oracle.documentAt(own[row]);
    const bool begins = own[row] > 0 && document && document->begin == own[row];
    EXPECT_EQ(cell.begins_document, begins);
    EXPECT_FALSE(cell.labelWrong());
  }
  for (const auto& lane : table.buffers)
    EXPECT_EQ(lane.wrong,
              lane.name == "position_ids" && known ? wrongPositions(c, look, look.rank) : 0)
        << lane.name;
}

/// Compares every token of the strip under the ring with the plan, rank by rank.
void expectStripTokens(const Case& c, const Look& look, const viz::PositionStrip& strip) {
  ASSERT_EQ(strip.rows.size(), static_cast<std::size_t>(c.cp));
  const bool known = c.positionsKnown(look.step, look.group);
  for (int rank = 0; rank < c.cp; ++rank) {
    const auto& own = c.oracle(look.step, look.group).own(rank);
    const viz::PositionRow& row = strip.rows[static_cast<std::size_t>(rank)];
    EXPECT_EQ(row.rank.value(), c.worldRankFor(look.group, rank));
    std::size_t local = 0;
    for (const viz::PositionRun& run : row.runs)
      for (std::int64_t i = 0; i < run.tokens; ++i, ++local) {
        ASSERT_LT(local, own.size());
        const int used = usedPosition(c, look, rank, static_cast<int>(local));
        const int should = c.positionFor(look.step, look.group, own[local]);
        EXPECT_EQ(run.first + i, used);
        EXPECT_EQ(run.wrong, known && used != should);
        if (i == 0 && known) {
          EXPECT_EQ(run.expected_first, should);
        }
      }
    EXPECT_EQ(local, own.size()) << "rank " << rank;
  }
}

}  // namespace

void expectPositions(const Case& c, const Look& look) {
  const auto strip = viz::makePositionStrip(*c.trace, look.cursor(c));
  const std::string says = strip.verdict();
  SCOPED_TRACE(says);
  if (!c.train || !c.stats) {
    EXPECT_NE(says.find(c.train ? "not recorded; --capture stats" : "attend has no position ids"),
              std::string::npos);
    EXPECT_NE(viz::makeTokenTable(*c.trace, look.cursor(c)).missing, "");
    return;
  }
  expectTable(c, look);
  expectStripTokens(c, look, strip);
  if (!c.positionsKnown(look.step, look.group)) {
    EXPECT_NE(says.find("not recorded"), std::string::npos);
    EXPECT_EQ(strip.wrong, 0);
    return;
  }
  std::int64_t wrong = 0;
  for (int rank = 0; rank < c.cp; ++rank) wrong += wrongPositions(c, look, rank);
  const auto all = std::to_string(c.oracle(look.step, look.group).plan().length);
  EXPECT_EQ(says, wrong == 0 ? "✓ all " + all + " as they should be"
                             : "▲ " + std::to_string(wrong) + " of " + all + " position ids " +
                                   (wrong == 1 ? "differs" : "differ"));
}

void expectMemory(const Case& c, const Look& look) {
  const auto scene = viz::makeMemoryScene(*c.trace, look.cursor(c));
  const int world = c.worldRankFor(look.group, look.rank);
  // Samples of the same instant belong together, and each category occurs once among them.
  std::array<std::int64_t, viz::kMemoryCategories> now{};
  std::int64_t most = 0, sum = 0;
  const auto& samples = c.trace->memory(traces::WorldRank::of(world));
  std::set<traces::MemoryCategory> together;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    together.insert(samples[i].category);
    const bool last = i + 1 == samples.size() || samples[i + 1].time_ns != samples[i].time_ns ||
                      together.contains(samples[i + 1].category);
    if (last) together.clear();
    if (samples[i].category == traces::MemoryCategory::kVerify) {
      if (last) most = std::max(most, sum);
      continue;
    }
    auto& bytes = now[static_cast<std::size_t>(samples[i].category)];
    sum += samples[i].bytes - bytes;
    bytes = samples[i].bytes;
    if (last) most = std::max(most, sum);
  }
  EXPECT_EQ(scene.peak.bytes, most);
  EXPECT_EQ(scene.series.peak_bytes, most);
  if (!c.peak_bytes.empty()) {
    EXPECT_EQ(scene.peak.bytes, c.peak_bytes[static_cast<std::size_t>(world)]);
  }
  EXPECT_NEAR(scene.law.bytesAt(c.cp), static_cast<double>(most), 1);
}

void expectDiff(const Case& c, const Look& look) {
  const auto scene = viz::makeDiffScene(*c.trace, look.cursor(c), viz::ErrorUnit::kLimit, false);
  ASSERT_EQ(scene.note.empty(), c.verify) << scene.note;
  if (!c.verify) {
    EXPECT_NE(scene.note.find("--verify would show it"), std::string::npos);
    return;
  }
  int wrong = 0, shown = 0, recorded = 0, diverging = 0;
  auto take = [&](const std::string& words, bool is_wrong) {
    ++shown;
    wrong += is_wrong;
    EXPECT_EQ(words.find("▲") == 0, is_wrong) << words;
  };
  for (const auto& table : scene.tables)
    for (const auto& layer : table.layers)
      for (const auto& cell : layer)
        if (cell) take(cell->words, cell->wrong);
  for (const auto& row : scene.rest) take(row.words, row.wrong);
  for (const auto& diff : c.trace->diffs())
    if (diff.place.train_step == look.step) ++recorded, diverging += !(diff.ratio <= 1);
  EXPECT_EQ(shown, recorded);
  EXPECT_EQ(wrong, diverging);
  if (c.mistake.empty()) {
    EXPECT_EQ(wrong, 0);
  }
}

void expectTimeline(const Case& c, const Look& look) {
  const auto scene = viz::makePassScene(*c.trace, look.cursor(c));
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  ASSERT_EQ(std::ssize(scene.lanes), c.cp);
  std::multiset<std::array<int, 4>> expected, shown;
  for (int rank = 0; rank < c.cp; ++rank) {
    EXPECT_EQ(std::ssize(scene.lanes[static_cast<std::size_t>(rank)].stages), oracle.ringSteps());
    for (int step = 0; step < oracle.ringSteps(); ++step)
      for (const Hop& hop : oracle.hops(rank, step, look.backward))
        expected.insert(
            {hop.from, hop.to, c.worldRankFor(look.group, hop.source), hop.payload == "dkv"});
  }
  for (const auto& flow : scene.flows)
    shown.insert(
        {flow.from_seat.value(), flow.to_seat.value(), flow.source_rank.value(), flow.gradient});
  EXPECT_EQ(shown, expected);
  std::int64_t bars = 0;
  for (int rank = 0; rank < c.cp; ++rank)
    for (const auto& event :
         c.trace->events(traces::WorldRank::of(c.worldRankFor(look.group, rank)))) {
      traces::Place pass = event.place;
      pass.stage = look.place().stage;
      if (!(pass == look.place()) || event.place.stage.isNone()) continue;
      bars += event.kind == traces::EventKind::kAttend || event.kind == traces::EventKind::kMerge ||
              event.kind == traces::EventKind::kWait || event.kind == traces::EventKind::kPause;
      EXPECT_LE(scene.begin_ns, event.begin_ns);
      EXPECT_GE(scene.end_ns, event.end_ns);
    }
  EXPECT_EQ(std::ssize(scene.bars), bars);
}

void expectSummary(const Case& c, const Look& look) {
  const auto summary = viz::runSummary(*c.trace, look.step);
  std::int64_t sent = 0;
  double most = 0, sum = 0;
  for (int group = 0; group < c.groups(); ++group) {
    const PlanOracle& oracle = c.oracle(look.step, group);
    for (int rank = 0; rank < c.cp; ++rank) {
      std::int64_t work = 0;
      for (int step = 0; step < oracle.ringSteps(); ++step) {
        for (const bool backward : {false, true})
          for (const Hop& hop : oracle.hops(rank, step, backward)) sent += hop.bytes * c.layers;
        for (const int source : oracle.sources(rank, step, false))
          work += oracle.pairs(rank, source);
      }
      most = std::max(most, static_cast<double>(work));
      sum += static_cast<double>(work);
    }
  }
  EXPECT_EQ(summary.sent_bytes, sent);
  std::map<traces::EventKind, std::int64_t> spent;
  for (int world = 0; world < c.groups() * c.cp; ++world)
    for (const auto& event : c.trace->events(traces::WorldRank::of(world)))
      if (event.place.train_step == look.step) spent[event.kind] += event.end_ns - event.begin_ns;
  EXPECT_EQ(summary.attend_ns, spent[traces::EventKind::kAttend]);
  EXPECT_EQ(summary.wait_ns, spent[traces::EventKind::kWait]);
  ASSERT_TRUE(summary.balance.has_value());
  EXPECT_NEAR(*summary.balance, most > 0 ? sum / (c.groups() * c.cp) / most : 1, 1e-9);
  EXPECT_EQ(summary.worst_ratio.has_value(), c.verify);
  const std::string words = viz::describe(summary);
  EXPECT_EQ(words.starts_with("step " + std::to_string(look.step) + ": not compared"), !c.verify)
      << words;
  std::smatch parts;
  ASSERT_TRUE(std::regex_search(words, parts,
                                std::regex("attends (.*), waits (.*) · sends (.*) · balance (.*)")))
      << words;
  EXPECT_TRUE(saysDuration(parts[1], static_cast<double>(summary.attend_ns))) << words;
  EXPECT_TRUE(saysDuration(parts[2], static_cast<double>(summary.wait_ns))) << words;
  EXPECT_TRUE(saysBytes(parts[3], static_cast<double>(sent))) << words;
  EXPECT_TRUE(saysShare(parts[4], *summary.balance)) << words;
}

}  // namespace ringscope::facts
