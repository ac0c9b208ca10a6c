// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "traces/exchange/tables/column.h"

namespace ringscope::app {

enum class TableForm { kText, kCsv, kJson };

/// A printer of tables, row by row, so that the number of rows has no limit.
class TablePrinter {
 public:
  virtual ~TablePrinter() = default;
  virtual void begin(const std::vector<std::string>& columns) = 0;
  virtual void row(std::span<const traces::Cell> cells) = 0;
  virtual void end() = 0;
};

/// Makes a printer. kText: columns as wide as the first rows need. kCsv: RFC 4180, NULL is empty.
/// kJson: a list of objects with one key per column. `out` must outlive the printer.
std::unique_ptr<TablePrinter> makeTablePrinter(TableForm form, std::ostream& out);

}  // namespace ringscope::app
