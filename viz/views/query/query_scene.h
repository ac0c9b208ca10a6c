// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "traces/exchange/tables/column.h"
#include "viz/scene/cursor.h"

namespace ringscope::viz {

/// Something to ask of a recording.
struct Question {
  std::string says;  ///< a clause for the user
  std::string sql;
  bool of_moment = false;  ///< follows the cursor
};

/// Those about the viewed ring step, layer and training step, then the named ones of the command
/// line.
std::vector<Question> questionsAt(const Place& place);

/// What came back.
struct QueryAnswer {
  std::vector<std::string> columns;
  std::vector<std::vector<traces::Cell>> rows;
  bool has_more = false;  ///< more rows than were taken
  std::string ended_by;   ///< the bound that ended it before its last row; empty: none
  std::string problem;    ///< why there is nothing; empty: there is an answer
};

/// Opens the recording at `path` and asks it, on whatever thread. Takes at most `most` rows.
/// `stopped` is asked often, with the number of rows so far. What goes wrong becomes the answer's
/// problem.
QueryAnswer ask(const std::string& path, const std::string& sql, std::size_t most,
                const std::function<bool(std::size_t rows)>& stopped);

/// Where a row leads, by its columns train_step, layer, direction, stage and rank; the rest stays
/// as it is in `from`. nullopt: it has none of them.
std::optional<Cursor> rowCursor(const QueryAnswer& answer, std::size_t row, const Cursor& from);

/// "events · 120 rows", "the first 5,000 rows; there are more".
std::string describe(const QueryAnswer& answer);

/// The rows as text with tabs between the cells, columns first.
std::string asTable(const QueryAnswer& answer);

}  // namespace ringscope::viz
