// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;

namespace ringscope::traces {

/// One row of a table. A value is nullopt when the file has no such column, or no value in it.
struct ForeignRow {
  std::vector<std::optional<std::int64_t>> numbers;
  std::vector<std::string> texts;  ///< the same columns as plain text; empty for none
};

/// The plain tables of an untrusted database. SQLite opens it read-only, without the files beside
/// it, and without extensions. An authorizer allows reads of plain tables and nothing else: no
/// views, triggers, virtual tables or functions.
class ForeignTables {
 public:
  /// Throws inputError with the file's name when it is not a readable database.
  explicit ForeignTables(const std::string& path);

  bool has(const std::string& table) const { return names_.contains(table); }

  /// Hands over the rows of a table in the order of the file, with the values of `columns`. Stops
  /// at damage or after kMostRows rows. Returns why it stopped early; empty when it did not.
  std::string read(const std::string& table, const std::vector<std::string>& columns,
                   const std::function<void(const ForeignRow& row)>& take) const;

  static constexpr std::int64_t kMostRows = 200'000'000;

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  /// Decides for SQLite about each action of a statement.
  static int authorize(void* tables, int action, const char* table, const char* column,
                       const char* database, const char* view);

  std::unique_ptr<sqlite3, Close> db_;
  std::set<std::string, std::less<>> names_;  ///< plain tables
};

}  // namespace ringscope::traces
