// SPDX-License-Identifier: GPL-3.0-or-later
// The painted words of the views of a moment: ring, now, coverage, timeline, inspector.
#include <algorithm>
#include <cmath>

#include "tests/viz/painted_facts.h"
#include "tests/viz/painted_words.h"
#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/format/core/prose.h"
#include "viz/views/coverage/coverage_painter.h"
#include "viz/views/inspector/inspector_painter.h"
#include "viz/views/now/now_painter.h"
#include "viz/views/pass/pass_painter.h"
#include "viz/views/ring/ring_painter.h"

namespace ringscope::facts {
namespace {

using test::dark;
using traces::describeDuration;

std::string number(std::int64_t value) {
  return std::to_string(value);
}

/// Takes the words that a card may have about its rank's activity, at any phase.
void takeActivity(PaintedWords& words, const viz::RankScene& rank) {
  for (const auto& wait : rank.waits)
    words.may("waits" + (wait.peer.exists() ? " for rank " + number(wait.peer.value()) : "") +
              " · " + describeDuration(wait.ns));
  if (!rank.known) return;
  if (rank.queries == 0) return words.may("idle · " + rank.idle);
  if (rank.lse_after.known() && rank.lse_before.rows == rank.lse_after.rows)
    return words.may("attending · lse " + decimals(rank.lse_before.mean, 2) + " → " +
                     decimals(rank.lse_after.mean, 2));
  words.may("attending · " + (rank.lse_after.known() ? "lse " + decimals(rank.lse_after.mean, 2)
                                                     : describeDuration(rank.attend_ns)));
}

/// Takes the plan's hops of this ring step, as packets and beside them.
void takePackets(PaintedWords& words, const Case& c, const Look& look) {
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  for (int rank = 0; rank < c.cp; ++rank)
    for (const Hop& hop : oracle.hops(rank, look.ring_step, look.backward)) {
      const std::string source = number(c.worldRankFor(look.group, hop.source)),
                        way = number(c.worldRankFor(look.group, hop.from)) + " → " +
                              number(c.worldRankFor(look.group, hop.to)) + " · " +
                              traces::describeBytes(hop.bytes);
      const bool sums = hop.payload == "dkv", heads = hop.payload == "heads";
      words.may((sums ? "dKV " : heads ? "heads " : "KV ") + source);
      words.may((sums ? "d" : heads ? "h" : "") + source);
      words.may(way);
      words.may(way + " · not to scale");
    }
}

std::string ringStepOf(const Case& c, const Look& look) {
  return "ring step " + number(look.ring_step) + " of " +
         number(c.oracle(look.step, look.group).ringSteps());
}

/// Takes the rank's name and its blocks, on a card or a line.
void takeRank(PaintedWords& words, const Case& c, const Look& look, int rank) {
  const std::string world = number(c.worldRankFor(look.group, rank));
  if (!words.take("rank " + world)) words.must(world);  // on a small card
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  const auto held = oracle.sources(rank, look.ring_step, look.backward);
  if (held.size() == 1) words.must("KV " + number(c.worldRankFor(look.group, held.front())));
}

}  // namespace

void expectPaintedRing(const Case& c, const Look& look, std::mt19937& random) {
  const auto scene = viz::makeRingScene(*c.trace, look.cursor(c));
  const double phase = static_cast<double>(random() % 100) / 100;
  auto words = paintedWords(
      [&](QPainter& p, const QRectF& area) { viz::paintRing(p, area, scene, phase, dark()); });
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  words.must(ringStepOf(c, look));
  words.must(std::string(look.backward ? "backward" : "forward") + " · layer " +
             number(look.layer) + " · step " + number(look.step));
  if (!scene.ringsText().empty()) words.must(scene.ringsText());
  words.must(scene.sentence);
  for (int rank = 0; rank < c.cp; ++rank) {
    const viz::RankScene& says = scene.ranks[static_cast<std::size_t>(rank)];
    takeRank(words, c, look, rank);
    const std::string list = says.chunks.size() > 1 ? "chunks " : "chunk ";
    words.may(list + viz::listedNumbers(says.chunks));
    words.may(says.attending);
    takeActivity(words, says);
    const int shared = oracle.plan().ulysses;
    words.may("heads " + number(rank % shared + 1) + "/" + number(shared));
  }
  takePackets(words, c, look);
  for (int rank = 0; rank < c.cp; ++rank)  // blocks side by side where several have come
    for (const int source : oracle.attended(rank, look.ring_step, look.backward))
      words.may(number(c.worldRankFor(look.group, source)));
  words.expectNoOtherNumbers();
}

void expectPaintedNow(const Case& c, const Look& look) {
  const auto scene = viz::makeRingScene(*c.trace, look.cursor(c));
  auto words = paintedWords(
      [&](QPainter& p, const QRectF& area) { viz::paintNow(p, area, scene, 0, dark()); });
  words.must("step " + number(look.step) + " · layer " + number(look.layer) + " · " +
             (look.backward ? "backward" : "forward") + " · " + ringStepOf(c, look));
  QString sentence = QString::fromStdString(scene.sentence);
  sentence[0] = sentence[0].toUpper();
  words.must(sentence.toStdString());
  for (int rank = 0; rank < c.cp; ++rank) {
    const viz::RankScene& says = scene.ranks[static_cast<std::size_t>(rank)];
    takeRank(words, c, look, rank);
    words.must(says.attending);
    std::string line = describeDuration(says.attend_ns);
    if (says.lse_after.known()) line = "lse " + decimals(says.lse_after.mean, 2) + " · " + line;
    if (4 * says.wait_ns > says.attend_ns + 3) {
      const std::string whom =
          says.waits_for.exists() ? " for rank " + number(says.waits_for.value()) : "";
      if (words.take(line + " · waits " + describeDuration(says.wait_ns) + whom)) continue;
    }
    words.must(line);
  }
  words.may("Space: the next ring step · ←: the one before · 1–8, R: about another rank");
  words.expectNoOtherNumbers();
}

namespace {

/// Reports whether words mean a number of pairs, within their precision: "1,088", "34 k", "2.1 M".
bool meansPairs(const std::string& words, double exact) {
  std::string digits = words;
  std::erase(digits, ',');
  const double said = std::stod(digits);
  if (words.ends_with(" M")) return std::abs(said * 1e6 - exact) <= 0.5e6;
  if (words.ends_with(" k")) return std::abs(said * 1e3 - exact) <= 0.5e3;
  return std::abs(said - exact) <= 0.5;
}

void takeWork(PaintedWords& words, const Case& c, const Look& look,
              const viz::CoverageScene& scene) {
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  double most = 0, sum = 0;
  for (int rank = 0; rank < c.cp; ++rank) {
    double pairs = 0;
    for (const int source : oracle.ring(rank))
      pairs += static_cast<double>(oracle.pairs(rank, source)) / oracle.plan().ulysses;
    most = std::max(most, pairs);
    sum += pairs;
    words.must("rank " + number(c.worldRankFor(look.group, rank)));
    words.must(describeDuration(scene.wait_ns[static_cast<std::size_t>(rank)]));
    bool said = false;
    words.mayBe([&](const std::string& line) {
      static const std::regex kCount("[\\d,.]+( [kM])?");
      if (said || !std::regex_match(line, kCount) || !meansPairs(line, pairs)) return false;
      return said = true;
    });
    EXPECT_TRUE(said) << pairs << " pairs of rank " << rank;
  }
  std::string balance = "Balance " + decimals(most > 0 ? 100 * sum / c.cp / most : 100, 0) +
                        " %: the mean over the largest share.";
  if (scene.contiguous)
    balance += " Contiguous shards would have " + decimals(100 * *scene.contiguous, 0) + " %.";
  const auto longest = std::ranges::max_element(scene.wait_ns);
  if (*longest > 0)
    balance +=
        " Rank " +
        number(c.worldRankFor(look.group, static_cast<int>(longest - scene.wait_ns.begin()))) +
        " waits most.";
  words.must(balance);
}

}  // namespace

void expectPaintedCoverage(const Case& c, const Look& look) {
  const auto scene = viz::makeCoverageScene(*c.trace, look.cursor(c));
  auto words = paintedWords(
      [&](QPainter& p, const QRectF& area) { viz::paintCoverage(p, area, scene, 0, dark()); });
  words.must(viz::describe(scene));
  takeWork(words, c, look, scene);  // first: a number of pairs may look like a chunk
  // The matrix: each drawn cell's ring step, and the chunks along both sides.
  for (int i = 0; i < 2; ++i)
    for (int chunk = 0; chunk < scene.chunks; ++chunk)
      if (!words.take(number(chunk))) {
        EXPECT_NE(chunk % 4, 0) << "chunk " << chunk;
      }
  for (const auto& cell : scene.cells)
    if (cell.ring_step.exists() && !cell.diagonal) words.take(number(cell.ring_step.value()));
  words.expectNoOtherNumbers();
}

void expectPaintedTimeline(const Case& c, const Look& look) {
  const auto scene = viz::makePassScene(*c.trace, look.cursor(c));
  auto words =
      paintedWords([&](QPainter& p, const QRectF& area) { viz::paintPass(p, area, scene, dark()); },
                   {1900, 600});
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  for (int rank = 0; rank < c.cp; ++rank) {
    words.must("rank " + number(c.worldRankFor(look.group, rank)));
    for (int step = 0; step < oracle.ringSteps(); ++step)
      for (const int source : oracle.attended(rank, step, look.backward)) {
        const std::string world = number(c.worldRankFor(look.group, source));
        words.may("KV " + world);  // on each piece's bar
        words.may(world);
      }
  }
  const viz::TimeScale scale = viz::passScale({0, 0, 1900, 600}, scene);
  const std::int64_t tick = scale.tick(scale.ticks());
  for (std::int64_t at = 0; scene.begin_ns + at <= scene.end_ns; at += tick) {
    constexpr double kRoom = 80;  // words without room at the right edge are left out
    const bool room = scale.x(scene.begin_ns + at) + kRoom <= 1900;
    room ? words.must(describeDuration(at)) : words.may(describeDuration(at));
  }
  words.expectNoOtherNumbers();
}

void expectPaintedInspector(const Case& c, const Look& look) {
  const viz::Cursor cursor = look.cursor(c);
  const auto ring = viz::makeRingScene(*c.trace, cursor);
  traces::WorstDiffs worst;
  worst.update(*c.trace);
  const std::optional<traces::Diagnosis> diagnosis = traces::diagnose(*c.trace);
  const auto memory =
      std::make_shared<const viz::MemorySeries>(viz::memorySeries(*c.trace, cursor.rank, 40));
  const auto scene =
      viz::makeInspectorScene(*c.trace, cursor, {ring, worst, diagnosis, memory, false});
  auto words = paintedWords(
      [&](QPainter& p, const QRectF& area) { viz::paintInspector(p, area, scene, 0, dark()); });
  words.must("rank " + number(c.worldRankFor(look.group, look.rank)) + " · layer " +
             number(look.layer) + " · " + (look.backward ? "backward" : "forward"));
  words.must(scene.attending);
  words.must(describeDuration(scene.attend_ns));
  words.must(describeDuration(scene.wait_ns));
  if (scene.sums_wait_ns > 0) words.must(describeDuration(scene.sums_wait_ns));
  for (const auto& line : scene.lse) {
    words.must("step " + number(line.ring_step.value()));
    words.must("KV " + number(line.source_rank.value()));
    words.must(line.mean ? decimals(*line.mean, 2) : line.words);
  }
  if (scene.running_lse.known()) words.must(decimals(scene.running_lse.mean, 2));
  words.mayBe([&](const std::string& line) {
    return line == "running lse, over " + traces::describeCount(scene.running_lse.rows) + " rows";
  });
  words.must("MEMORY, RANK " + number(c.worldRankFor(look.group, look.rank)));
  if (memory->peak_bytes > 0) words.must(traces::describeBytes(memory->peak_bytes));
  for (const auto& line : scene.worst) {
    words.must(line.words);
    words.must(line.multiple);
  }
  words.may(scene.lse_note);
  words.may(scene.doctor_headline);
  for (const auto& finding : scene.findings)
    for (const std::string& part : {"▲ " + finding.title, finding.source, finding.evidence,
                                    "What to change: " + finding.remedy})
      words.must(part);
  int clear = 0, unseen = 0;
  for (const auto& entry : diagnosis->entries) {
    if (!entry.applies()) continue;
    clear += entry.result.verdict == traces::Verdict::kClear;
    unseen += entry.result.verdict == traces::Verdict::kNotObservable;
  }
  words.must(traces::describeCount(clear, "rule") + " clear · " + number(unseen) +
             " not observable in this recording");
  words.expectNoOtherNumbers();
}

}  // namespace ringscope::facts
