// SPDX-License-Identifier: GPL-3.0-or-later
// The painted words of the views of numbers: memory, positions, diff.
#include <algorithm>
#include <cmath>

#include "tests/viz/painted_facts.h"
#include "tests/viz/painted_words.h"
#include "traces/format/core/prose.h"
#include "viz/scene/tensor_slice.h"
#include "viz/views/diff/diff_painter.h"
#include "viz/views/memory/memory_painter.h"
#include "viz/views/positions/positions_painter.h"

namespace ringscope::facts {
namespace {

using test::dark;

bool isNumber(const std::string& words) {
  static const std::regex kNumber("(−|-)?\\d+(\\.\\d+)?(e[+-]?\\d+)?");
  return std::regex_match(words, kNumber);
}

/// Expects the activity of the rank at the peak by its events, and its largest temporary memory:
/// "attend at step 0 › …; activations are 1.1 MiB of it".
void expectCause(const Case& c, const viz::MemoryScene& scene) {
  std::int64_t last = -1;
  std::set<std::string> began, goes_on;
  for (const traces::Event& event : c.trace->events(scene.rank)) {
    if (event.kind == traces::EventKind::kSend || event.kind == traces::EventKind::kReceive ||
        event.begin_ns > scene.peak.time_ns || event.begin_ns < last)
      continue;
    if (event.begin_ns > last) began.clear(), goes_on.clear();
    last = event.begin_ns;
    auto& of = event.end_ns >= scene.peak.time_ns ? goes_on : began;
    of.insert(std::string(traces::name(event.kind)) + " at " + traces::describe(event.place));
  }
  const auto parts = scene.peak.cause.find("; ");
  const std::string doing = parts == std::string::npos ? "" : scene.peak.cause.substr(0, parts);
  const bool after = doing.starts_with("after ");
  EXPECT_TRUE(last < 0 ? doing.empty()
              : after  ? began.contains(doing.substr(6))
                       : goes_on.contains(doing))
      << scene.peak.cause;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < viz::kMemoryCategories; ++i) {
    const auto category = static_cast<traces::MemoryCategory>(i);
    if (category != traces::MemoryCategory::kWeights &&
        category != traces::MemoryCategory::kGradients &&
        category != traces::MemoryCategory::kOptimizer)
      most = std::max(most, scene.peak.by_category[i]);
  }
  EXPECT_NE(scene.peak.cause.find(" are " + traces::describeBytes(most) + " of it"),
            std::string::npos)
      << scene.peak.cause;
}

/// Expects every number along the axis of time at its time.
void expectTimes(const test::Drawn& page, const viz::MemoryScene& scene) {
  const QRectF plot = viz::memoryAreas(page.area()).over_time;
  int count = 0;
  for (const auto& text : page.texts()) {
    const bool on_axis = text.at.y() > plot.bottom() && text.at.y() < plot.bottom() + 24 &&
                         text.at.x() + text.width / 2 > plot.left() - 4 &&
                         text.at.x() < plot.right() + 20;
    if (!on_axis || !isNumber(text.words.toStdString())) continue;
    const double share = (text.at.x() + text.width / 2 - plot.left()) / plot.width();
    EXPECT_NEAR(share * static_cast<double>(scene.end_ns) * 1e-6, text.words.toDouble(),
                0.01 * static_cast<double>(scene.end_ns) * 1e-6);
    ++count;
  }
  EXPECT_GE(count, 2) << "the axis has numbers";
}

}  // namespace

void expectPaintedMemory(const Case& c, const Look& look) {
  const auto scene = viz::makeMemoryScene(*c.trace, look.cursor(c));
  const auto page = test::drawn({3840, 2160}, [&](QPainter& p, const QRectF& area) {
    viz::paintMemory(p, area, scene, dark());
  });
  PaintedWords words(*page);
  if (!scene.note.empty()) return words.must(scene.note);
  words.must("rank " + std::to_string(c.worldRankFor(look.group, look.rank)) + " holds at most " +
             traces::describeBytes(scene.peak.bytes));
  words.must("At the peak: " + scene.peak.cause +
             ". Click the chart to go to a moment. Verification and captured "
             "copies are not counted.");
  expectCause(c, scene);
  expectTimes(*page, scene);
  words.mayBe(isNumber);
  words.expectNoOtherNumbers();
}

namespace {

void takeTokens(PaintedWords& words, const Case& c, const Look& look, const viz::TokenTable& table,
                int shown) {
  const auto& own = c.oracle(look.step, look.group).own(look.rank);
  const bool known = c.positionsKnown(look.step, look.group);
  for (int row = 0; row < shown; ++row) {
    const viz::TokenCell& cell = table.cells[static_cast<std::size_t>(row)];
    const int token = own[static_cast<std::size_t>(row)];
    const std::string at = std::to_string(token);
    words.must(at);
    words.must(std::to_string(usedPosition(c, look, look.rank, row)));
    words.must(known ? std::to_string(c.positionFor(look.step, look.group, token)) : "?");
    words.must(cell.label ? viz::tokenText(*cell.label, table.vocabulary) : "–");
    words.must(cell.should_label ? viz::tokenText(*cell.should_label, table.vocabulary) : "?");
    if (cell.token) words.must(viz::tokenText(*cell.token, table.vocabulary));
    if (cell.begins_chunk || cell.begins_document) {
      const std::string what = !cell.begins_document ? "chunk begins"
                               : cell.begins_chunk   ? "chunk and document begin"
                                                     : "document begins";
      // Near the next border only the first of the words has room, or none.
      if (!words.take(what + " at " + at) && !words.take(what))
        words.may(what.substr(0, what.find(' ')));
    }
  }
}

/// Takes the bars of the strip: first and last position of each stretch.
void takeStrip(PaintedWords& words, const Case& c, const Look& look,
               const viz::PositionStrip& strip) {
  words.must(strip.verdict());
  for (int rank = 0; rank < c.cp; ++rank)
    words.must("rank " + std::to_string(c.worldRankFor(look.group, rank)));
  const auto& own = c.oracle(look.step, look.group);
  for (int rank = 0; rank < c.cp; ++rank)
    for (int row = 0; row < std::ssize(own.own(rank)); ++row) {
      const int position = usedPosition(c, look, rank, row);
      words.may(std::to_string(position));
    }
  for (const auto& row : strip.rows)
    for (const auto& run : row.runs)
      if (run.wrong)
        words.may("≠ should be " + std::to_string(run.expected_first) + " … " +
                  std::to_string(run.expected_first + run.tokens - 1));
}

}  // namespace

void expectPaintedPositions(const Case& c, const Look& look) {
  const auto strip =
      std::make_shared<const viz::PositionStrip>(viz::makePositionStrip(*c.trace, look.cursor(c)));
  const auto scene = viz::makePositionsScene(*c.trace, look.cursor(c), strip);
  const auto page = test::drawn({3840, 2160}, [&](QPainter& p, const QRectF& area) {
    viz::paintPositions(p, area, scene, 0, dark());
  });
  PaintedWords words(*page);
  if (!scene.note.empty()) return words.must(scene.note);
  const int count = static_cast<int>(c.oracle(look.step, look.group).own(look.rank).size()),
            shown = std::min(count, viz::visibleTokens(page->area(), scene));
  words.must("rank " + std::to_string(c.worldRankFor(look.group, look.rank)) + " · step " +
             std::to_string(look.step) + " · tokens 0 to " + std::to_string(shown - 1) +
             " of its " + std::to_string(count));
  for (const auto& lane : scene.table.buffers) {
    const std::string local = viz::describeShape(lane.local_shape);
    words.must(lane.name);
    words.must(lane.cut == viz::BufferCut::kSharded
                   ? "sharded: " + local + " of " + viz::describeShape(lane.full_shape)
                   : "▲ not sharded: the rank made " + local + " by itself");
    const std::string all = std::to_string(lane.compared);
    words.must(lane.compared == 0 ? "– " + lane.not_compared
               : lane.wrong > 0   ? "▲ " + std::to_string(lane.wrong) + " of " + all + " differ"
                                  : "✓ " + all + " as they should be");
  }
  takeTokens(words, c, look, scene.table, shown);
  takeStrip(words, c, look, *strip);
  words.may(
      "↑ ↓, Page Up, Page Down or the wheel: along the tokens · 1–8, R: another rank · click a bar "
      "to go there · double click: the merge of a token");
  words.expectNoOtherNumbers();
}

namespace {

std::string multipleOf(const traces::DiffRecord& diff) {
  return (diff.ratio <= 1 ? "" : "▲ ") + traces::describeMultiple(diff.ratio);
}

/// Takes the rows outside the layers, in any order.
void takeRest(PaintedWords& words, const viz::DiffScene& scene) {
  const auto count = std::ssize(scene.rest);
  if (count == 0) return words.must("not compared");
  const auto wrong = std::ranges::count_if(scene.rest, &viz::DiffRow::wrong);
  words.must(wrong > 0 ? "▲ " + std::to_string(wrong) + " of " + std::to_string(count) +
                             (wrong == 1 ? " diverges" : " diverge") + "; worst first"
                       : "✓ none of " + std::to_string(count) + " diverges; worst first");
  std::ptrdiff_t shown = 0;
  for (; shown < count; ++shown) {
    const viz::DiffRow& row = scene.rest[static_cast<std::size_t>(shown)];
    if (!words.take("error " + decimals(row.error, 1, 'e') + " limit " +
                    decimals(row.limit, 1, 'e')))
      break;
    words.must(row.tensor);
  }
  if (shown == count) return;
  const auto hidden =
      std::count_if(scene.rest.begin() + shown, scene.rest.end(), [](auto& r) { return r.wrong; });
  words.must("and " + std::to_string(count - shown) + " more, " +
             (hidden ? std::to_string(hidden) + " of them diverge" + (hidden == 1 ? "s" : "")
                     : "none of them diverges"));
}

}  // namespace

void expectPaintedDiff(const Case& c, const Look& look) {
  const auto scene = viz::makeDiffScene(*c.trace, look.cursor(c), viz::ErrorUnit::kLimit, false);
  auto words = paintedWords(
      [&](QPainter& p, const QRectF& area) { viz::paintDiff(p, area, scene, dark()); });
  if (!scene.note.empty()) return words.must(scene.note);
  takeRest(words, scene);
  for (const auto& table : scene.tables) {
    words.must(table.title);
    words.must(table.note);
    for (std::size_t layer = 0; layer < table.layers.size(); ++layer)
      words.must("layer " + std::to_string(layer));
  }
  words.must(scene.map_title);
  if (!scene.quantisation.empty()) words.must(scene.quantisation);
  for (std::int64_t head = 0; head < scene.map.heads; ++head)
    words.may("head " + std::to_string(head));
  // Every comparison of the step has its number somewhere on the page.
  for (const auto& diff : c.trace->diffs())
    if (diff.place.train_step == look.step && diff.place.layer.exists())
      words.may(multipleOf(diff));
  for (const auto& row : scene.rest) words.may(row.words);
  words.mayBe(isNumber);  // the histogram's scale, and the ranks of the tokens on the map
  words.expectNoOtherNumbers();
}

}  // namespace ringscope::facts
