// SPDX-License-Identifier: GPL-3.0-or-later
// The painted words of the Merge view.
#include <cmath>

#include "tests/viz/painted_facts.h"
#include "tests/viz/painted_words.h"
#include "viz/views/merge/merge_painter.h"

namespace ringscope::facts {
namespace {

using test::dark;

/// The formulas with their numbers, about the last block that was merged.
void takeMergeFormulas(PaintedWords& words, const viz::MergeScene& scene) {
  const auto last = scene.lastMerged();
  if (!last) return;
  const auto& step = scene.history.steps[*last];
  const auto before = scene.before(*last);
  const auto four = [](double value) { return decimals(value, 4); };
  const auto factor = [&](double value) {
    return value < 0 ? "(" + four(value) + ")" : four(value);
  };
  if (std::isinf(before.running_lse)) {
    words.must(four(step.block_lse) + " = log exp(" + four(step.block_lse) + ")");
    words.must(four(step.running_out) + " = " + four(step.block_out));
    return;
  }
  words.must(four(step.running_lse) + " = log( exp(" + four(before.running_lse) + ") + exp(" +
             four(step.block_lse) + ") )");
  words.must(four(step.running_out) + " = " +
             four(std::exp(before.running_lse - step.running_lse)) + " · " +
             factor(before.running_out) + " + " +
             four(std::exp(step.block_lse - step.running_lse)) + " · " + factor(step.block_out));
}

void takeMergeSteps(PaintedWords& words, const viz::MergeScene& scene) {
  double weights = 0;
  for (const auto& step : scene.history.steps) {
    words.must(std::to_string(step.ring_step.value()));
    words.must("KV " + std::to_string(step.source_rank.value()));
    weights += step.weight;
    if (scene.isToCome(step)) {
      words.must("to come");
      continue;
    }
    if (!step.attended) {
      words.must("nothing for this row: " + step.words);
      continue;
    }
    for (const double value : {step.block_lse, step.running_lse, step.running_out})
      words.must(decimals(value, 4));
    words.must(decimals(100 * scene.weightSoFar(step), 2) + " %");
  }
  takeMergeFormulas(words, scene);
  words.must(
      "Each block's out is an average by itself. Weighted by exp(block lse − lse) they add "
      "up to " +
      decimals(100 * weights, 2) + " %" +
      (scene.has_sink ? ", and the attention sink has the rest" : "") +
      "; simply added, every block would count in full.");
}

void takeVerdict(PaintedWords& words, double error, double rounding) {
  words.must(error <= rounding ? "✓ equals what was recorded"
                               : "≠ off by up to " + decimals(error, 2, 'g'));
}

}  // namespace

void expectPaintedMerge(const Case& c, const Look& look, std::mt19937& random) {
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  const auto& own = oracle.own(look.rank);
  const int head = static_cast<int>(random() % static_cast<unsigned>(oracle.plan().heads / c.tp)),
            row = static_cast<int>(random() % own.size());
  const auto scene = viz::makeMergeScene(*c.trace, look.cursor(c), {head, row});
  auto words = paintedWords(
      [&](QPainter& p, const QRectF& area) { viz::paintMerge(p, area, scene, dark()); });
  const int attending =
      oracle.sharers(look.rank)[static_cast<std::size_t>(head / oracle.headsEach())];
  const std::string world = std::to_string(c.worldRankFor(look.group, look.rank)),
                    by = std::to_string(c.worldRankFor(look.group, attending));
  const auto& history = scene.history;
  if (!scene.note.empty()) {
    words.must(scene.note);
  } else {
    words.must("rank " + world + " · layer " + std::to_string(look.layer) + " · head " +
               std::to_string(head) + " · query " + std::to_string(row) + ", token " +
               std::to_string(own[static_cast<std::size_t>(row)]) + " of the sequence" +
               (by != world ? " · attended by rank " + by : ""));
    words.must(history.largest_error_merged <= history.rounding
                   ? "✓ merged by their weights the blocks equal what was recorded"
                   : "≠ merged by their weights the blocks are off by up to " +
                         decimals(history.largest_error_merged, 2, 'g'));
    takeMergeSteps(words, scene);
    for (const double value : {history.out, history.merged, history.naive})
      words.must(decimals(value, 6));
    takeVerdict(words, history.largest_error_merged, history.rounding);
    takeVerdict(words, history.largest_error_naive, history.rounding);
    for (const char* name : {"out[0] so far", "recorded out[0]"}) words.must(name);
  }
  words.may("↑ ↓ another query · Page Up, Page Down another head · 1–8, R another rank");
  if (scene.note.empty()) words.expectNoOtherNumbers();
}

}  // namespace ringscope::facts
