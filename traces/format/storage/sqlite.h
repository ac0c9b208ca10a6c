// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "traces/format/core/bytes.h"
#include "traces/format/storage/file_in_use.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ringscope::traces {

/// Keeps statements of a database within it: no other database, no thread, no extension, and no
/// trust in its schema.
void confine(sqlite3* db);

/// A prepared statement. Not thread-safe. Every failure throws inputError with SQLite's reason.
class Statement {
 public:
  Statement(sqlite3* db, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, const Bytes& blob);  ///< the blob must outlive the next step()
  Statement& bind(int index, const std::string& text);
  bool step();  ///< returns true when there is a row
  void reset();
  std::int64_t integer(int column) const;
  bool isInteger(int column) const;  ///< the value is stored as an integer
  std::string text(int column) const;
  Bytes blob(int column) const;  ///< throws for more than kMaxChunkBytes

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

/// An open database. Not thread-safe.
class Database {
 public:
  enum class Mode {
    kCreate,
    kReadOnly,  ///< for an untrusted trace: see read_only.h
  };
  Database(const std::string& path, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void execute(const std::string& sql);
  std::int64_t pragma(const std::string& name);
  sqlite3* handle() const { return db_; }
  const std::string& path() const { return path_; }
  /// Reports whether the database was opened for reading while a recorder may be at work.
  bool isLive() const { return mode_ == Mode::kReadOnly && in_use_; }

 private:
  std::string path_;
  Mode mode_;
  sqlite3* db_ = nullptr;
  std::optional<FileInUse> in_use_;
};

}  // namespace ringscope::traces
