// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "traces/exchange/tables/column.h"
#include "viz/scene/cursor.h"
#include "viz/scene/recorded_file.h"

namespace ringscope::viz {

/// Something to ask of a recording.
struct Question {
  std::string says;  ///< a clause for the user
  std::string sql;
  bool of_moment = false;  ///< follows the cursor
};

/// Returns the questions about the viewed ring step, layer and training step, then the named
/// queries of the command line.
std::vector<Question> questionsAt(const Place& place);

/// The answer to a query.
struct QueryAnswer {
  std::vector<std::string> columns;
  std::vector<std::vector<traces::Cell>> rows;
  bool has_more = false;  ///< more rows than were taken
  std::string ended_by;   ///< the bound that ended it before its last row; empty: none
  std::string problem;    ///< why there is nothing; empty: there is an answer
};

/// Runs the query on the trace of a recording, on any thread. Takes at most `most` rows.
/// Calls `stopped` often, with the number of rows so far. An error becomes the answer's problem.
QueryAnswer ask(RecordedFile& file, const std::string& sql, std::size_t most,
                const std::function<bool(std::size_t rows)>& stopped);

/// Returns the place to which a row leads, from its columns train_step, layer, direction, stage and
/// rank. Missing parts stay as they are in `from`. Returns nullopt when the row has none of these
/// columns.
std::optional<Cursor> rowCursor(const QueryAnswer& answer, std::size_t row, const Cursor& from);

/// "events · 120 rows", "the first 5,000 rows; there are more".
std::string describe(const QueryAnswer& answer);

/// The rows as text with tabs between the cells, columns first.
std::string asTable(const QueryAnswer& answer);

}  // namespace ringscope::viz
