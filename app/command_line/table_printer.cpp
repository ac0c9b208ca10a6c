// SPDX-License-Identifier: Apache-2.0
#include "app/command_line/table_printer.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "app/command_line/columns.h"
#include "traces/exchange/tables/cell_text.h"
#include "traces/format/core/csv.h"
#include "traces/format/core/utf8.h"

namespace ringscope::app {
namespace {

using traces::asText;
using traces::Cell;

class TextPrinter : public TablePrinter {
 public:
  explicit TextPrinter(std::ostream& out) : out_(out) {}
  void begin(const std::vector<std::string>& columns) override {
    waiting_.emplace_back(columns);
    right_.assign(columns.size(), false);
  }
  void row(std::span<const Cell> cells) override {
    std::vector<std::string> row;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      row.push_back(traces::toPlainText(asText(cells[i], "·")));
      right_[i] = right_[i] || std::holds_alternative<std::int64_t>(cells[i]) ||
                  std::holds_alternative<double>(cells[i]);
    }
    if (!widths_.empty()) return print(row);
    constexpr std::size_t kRowsForWidths = 200;
    waiting_.push_back(std::move(row));
    if (waiting_.size() > kRowsForWidths) printWaiting();
  }
  void end() override {
    if (widths_.empty()) printWaiting();
    out_ << (rows_ == 0 ? "no rows\n" : rows_ == 1 ? "1 row\n" : std::to_string(rows_) + " rows\n");
  }

 private:
  void printWaiting() {
    widths_.assign(right_.size(), 0);
    for (const auto& row : waiting_)
      for (std::size_t i = 0; i < row.size(); ++i)
        widths_[i] = std::max(widths_[i], countColumns(row[i]));
    for (const auto& row : waiting_) print(row);
    rows_ -= 1;  // the line of column names is not a row
    waiting_.clear();
  }
  void print(const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += (i > 0 ? "  " : "") +
              (right_[i] ? alignRight(row[i], widths_[i]) : alignLeft(row[i], widths_[i]));
    line.erase(line.find_last_not_of(' ') + 1);
    out_ << line << "\n";
    ++rows_;
  }

  std::ostream& out_;
  std::vector<std::vector<std::string>> waiting_;
  std::vector<std::size_t> widths_;
  std::vector<bool> right_;
  std::size_t rows_ = 0;
};

class CsvPrinter : public TablePrinter {
 public:
  explicit CsvPrinter(std::ostream& out) : out_(out) {}
  void begin(const std::vector<std::string>& columns) override {
    for (std::size_t i = 0; i < columns.size(); ++i) put(i, columns[i]);
    out_ << "\r\n";
  }
  void row(std::span<const Cell> cells) override {
    for (std::size_t i = 0; i < cells.size(); ++i) put(i, asText(cells[i], ""));
    out_ << "\r\n";
  }
  void end() override {}

 private:
  void put(std::size_t column, const std::string& text) {
    out_ << (column > 0 ? "," : "") << traces::csvField(text);
  }
  std::ostream& out_;
};

class JsonPrinter : public TablePrinter {
 public:
  explicit JsonPrinter(std::ostream& out) : out_(out) {}
  /// Numbers repeated column names, because a JSON object cannot have the same key twice.
  void begin(const std::vector<std::string>& columns) override {
    std::set<std::string> known;
    for (const std::string& column : columns) {
      std::string name = column;
      for (int again = 2; !known.insert(name).second; ++again)
        name = column + ":" + std::to_string(again);
      keys_.push_back(nlohmann::json(name).dump() + ": ");
    }
  }
  void row(std::span<const Cell> cells) override {
    out_ << (std::exchange(first_, false) ? "[\n  {" : ",\n  {");
    for (std::size_t i = 0; i < cells.size(); ++i)
      out_ << (i > 0 ? ", " : "") << keys_[i] << valueOf(cells[i]);
    out_ << "}";
  }
  void end() override { out_ << (first_ ? "[]\n" : "\n]\n"); }

 private:
  static std::string valueOf(const Cell& cell) {
    const bool text =
        std::holds_alternative<std::string>(cell) || std::holds_alternative<const char*>(cell);
    if (text) return nlohmann::json(asText(cell, "")).dump();
    const auto* real = std::get_if<double>(&cell);
    return real && !std::isfinite(*real) ? "null" : asText(cell, "null");
  }
  std::ostream& out_;
  std::vector<std::string> keys_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<TablePrinter> makeTablePrinter(TableForm form, std::ostream& out) {
  if (form == TableForm::kCsv) return std::make_unique<CsvPrinter>(out);
  if (form == TableForm::kJson) return std::make_unique<JsonPrinter>(out);
  return std::make_unique<TextPrinter>(out);
}

}  // namespace ringscope::app
