// SPDX-License-Identifier: Apache-2.0
#include "traces/format/storage/sqlite.h"

#include <sqlite3.h>

#include "traces/format/core/utf8.h"
#include "traces/format/schema/chunk.h"
#include "traces/format/storage/read_only.h"

namespace ringscope::traces {
namespace {

[[noreturn]] void fail(sqlite3* db) {
  const char* file = db ? sqlite3_db_filename(db, "main") : nullptr;
  throw inputError(std::string(file ? file : "the trace") + ": " +
                   (db ? toPlainText(sqlite3_errmsg(db)) : "out of memory"));
}

}  // namespace

void confine(sqlite3* db) {
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
}

Statement::Statement(sqlite3* db, const std::string& sql) : db_(db) {
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) fail(db);
}

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

Statement& Statement::bind(int index, std::int64_t value) {
  if (sqlite3_bind_int64(statement_, index, value) != SQLITE_OK) fail(db_);
  return *this;
}

Statement& Statement::bind(int index, const Bytes& blob) {
  const void* data = blob.empty() ? static_cast<const void*>("") : blob.data();
  if (sqlite3_bind_blob64(statement_, index, data, blob.size(), SQLITE_STATIC) != SQLITE_OK)
    fail(db_);
  return *this;
}

Statement& Statement::bind(int index, const std::string& text) {
  if (sqlite3_bind_text64(statement_, index, text.data(), text.size(), SQLITE_TRANSIENT,
                          SQLITE_UTF8) != SQLITE_OK)
    fail(db_);
  return *this;
}

bool Statement::step() {
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) fail(db_);
  return false;
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

bool Statement::isInteger(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_INTEGER;
}

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text
             ? std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)))
             : std::string();
}

Bytes Statement::blob(int column) const {
  const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  if (size > kMaxChunkBytes) throw inputError("the trace holds a chunk of more than 1 GiB");
  return data ? Bytes(data, data + size) : Bytes();
}

Database::Database(const std::string& path, Mode mode) : path_(path), mode_(mode) {
  if (mode == Mode::kReadOnly) {
    ReadOnlyDatabase opened = openReadOnly(path);
    db_ = opened.handle;
    if (opened.live) in_use_.emplace(std::move(*opened.live));
    return;
  }
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path.c_str(), &db_, flags, nullptr) != SQLITE_OK) {
    const std::string reason = db_ ? sqlite3_errmsg(db_) : "out of memory";
    sqlite3_close(db_);
    throw inputError(path + ": " + reason);
  }
  in_use_.emplace(path);
  sqlite3_busy_timeout(db_, 2000);
}

Database::~Database() {
  sqlite3_close(db_);
}

void Database::execute(const std::string& sql) {
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(db_);
}

std::int64_t Database::pragma(const std::string& name) {
  Statement statement(db_, "PRAGMA " + name);
  return statement.step() ? statement.integer(0) : 0;
}

}  // namespace ringscope::traces
