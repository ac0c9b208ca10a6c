// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/query/query_scene.h"

#include <algorithm>
#include <chrono>

#include "traces/analysis/sql/named_queries.h"
#include "traces/analysis/sql/query.h"
#include "traces/exchange/tables/cell_text.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/trace.h"

namespace ringscope::viz {
namespace {

using traces::Cell;

constexpr const char* kEventColumns =
    "SELECT rank, kind, begin_ns, end_ns - begin_ns AS ns, payload, peer, source_rank, bytes, "
    "train_step, layer, direction, stage FROM events WHERE train_step = ";

std::string eventsFor(const Place& place, bool of_layer, bool of_stage) {
  std::string sql = kEventColumns + std::to_string(place.train_step);
  if (of_layer && !place.layer.isNone())
    sql += " AND layer = " + std::to_string(place.layer.value()) + " AND direction = '" +
           traces::name(place.direction) + "'";
  if (of_stage && !place.stage.isNone())
    sql += " AND stage = " + std::to_string(place.stage.value());
  return sql + " ORDER BY begin_ns";
}

const Cell* cellFor(const QueryAnswer& answer, std::size_t row, const char* column) {
  const auto at = std::ranges::find(answer.columns, column);
  return at == answer.columns.end()
             ? nullptr
             : &answer.rows[row][static_cast<std::size_t>(at - answer.columns.begin())];
}

/// A number that an id may be; nullopt: there is none.
std::optional<std::int32_t> findId(const QueryAnswer& answer, std::size_t row, const char* column) {
  const Cell* cell = cellFor(answer, row, column);
  const auto* number = cell ? std::get_if<std::int64_t>(cell) : nullptr;
  if (!number || *number < 0 || *number > 1'000'000'000) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

}  // namespace

std::vector<Question> questionsAt(const Place& place) {
  std::vector<Question> questions = {
      {"events of the viewed ring step", eventsFor(place, true, true), true},
      {"events of the viewed layer and direction", eventsFor(place, true, false), true},
      {"events of the viewed training step", eventsFor(place, false, false), true}};
  for (const traces::NamedQuery& named : traces::namedQueries())
    questions.push_back({named.says, named.sql});
  return questions;
}

QueryAnswer ask(RecordedFile& file, const std::string& sql, std::size_t most,
                const std::function<bool(std::size_t rows)>& stopped) {
  QueryAnswer answer;
  try {
    const auto trace = file.trace()->snapshot();  // its cache, not that of the window
    const traces::QueryBounds bounds{.rows = static_cast<std::int64_t>(most)};
    const traces::QueryEnd end = traces::runQuery(
        *trace, sql,
        {[&](const std::vector<std::string>& columns) { answer.columns = columns; },
         [&](std::span<const Cell> cells) {
           answer.rows.emplace_back(cells.begin(), cells.end());
           return true;
         },
         [&] { return stopped(answer.rows.size()); }},
        bounds);
    answer.has_more = end == traces::QueryEnd::kRowBound;
    if (end == traces::QueryEnd::kTimeBound)
      answer.ended_by =
          "ended after " +
          traces::describeSeconds(std::chrono::duration<double>(bounds.time).count()) +
          "; ask for less, for example with LIMIT";
  } catch (const Error& error) {
    answer = {};
    answer.problem = error.what();
  }
  return answer;
}

std::optional<Cursor> rowCursor(const QueryAnswer& answer, std::size_t row, const Cursor& from) {
  if (row >= answer.rows.size()) return std::nullopt;
  Cursor to = from;
  const auto step = findId(answer, row, "train_step"), layer = findId(answer, row, "layer"),
             stage = findId(answer, row, "stage"), rank = findId(answer, row, "rank");
  if (!step && !layer && !stage && !rank) return std::nullopt;
  if (step) to.place.train_step = *step;
  if (layer) to.place.layer = traces::Layer::of(*layer);
  if (stage) to.place.stage = traces::RingStep::of(*stage);
  if (rank) to.rank = WorldRank::of(*rank);
  if (const Cell* cell = cellFor(answer, row, "direction")) {
    const std::string direction = traces::asText(*cell, "");
    for (const auto each : {traces::Direction::kForward, traces::Direction::kBackward})
      if (direction == traces::name(each)) to.place.direction = each;
  }
  to.phase = 0;
  return to;
}

std::string describe(const QueryAnswer& answer) {
  if (!answer.problem.empty()) return answer.problem;
  const auto rows = static_cast<std::int64_t>(answer.rows.size());
  if (answer.has_more)
    return "the first " + traces::describeCount(rows, "row") + "; there are more";
  const std::string count = rows == 0 ? "no rows" : traces::describeCount(rows, "row");
  return answer.ended_by.empty() ? count : count + ", " + answer.ended_by;
}

std::string asTable(const QueryAnswer& answer) {
  std::string text;
  const auto add = [&](std::size_t i, const std::string& cell) {
    text += i > 0 ? "\t" : "";
    for (const char c : cell) text += c == '\t' || c == '\n' ? ' ' : c;
  };
  for (std::size_t i = 0; i < answer.columns.size(); ++i) add(i, answer.columns[i]);
  for (const auto& row : answer.rows) {
    text += "\n";
    for (std::size_t i = 0; i < row.size(); ++i) add(i, traces::asText(row[i], ""));
  }
  return text;
}

}  // namespace ringscope::viz
