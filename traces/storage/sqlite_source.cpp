// SPDX-License-Identifier: Apache-2.0
#include "traces/storage/sqlite_source.h"

#include <sqlite3.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <set>

#include "traces/storage/schema.h"

namespace ringscope::traces {
namespace {

const std::string& existingFile(const std::string& path) {
  if (!std::filesystem::exists(path)) throw inputError(path + ": no such file");
  if (std::filesystem::is_directory(path)) throw inputError(path + " is a folder, not a trace");
  return path;
}

/// SQLite asks this for every action of every statement: reads of `chunk` and nothing else.
int authorize(void*, int action, const char* table, const char*, const char*, const char*) {
  if (action == SQLITE_SELECT) return SQLITE_OK;
  if (action == SQLITE_READ && std::strcmp(table, "chunk") == 0) return SQLITE_OK;
  return SQLITE_DENY;
}

Chunk chunkFromRow(const Statement& row) {
  Chunk chunk;
  chunk.seq = static_cast<std::uint64_t>(row.integer(0));
  const std::int64_t kind = row.integer(1);
  if (kind < 0 || kind >= static_cast<std::int64_t>(ChunkKind::kCount))
    throw inputError("chunk " + std::to_string(chunk.seq) + " is of an unknown kind");
  chunk.kind = static_cast<ChunkKind>(kind);
  chunk.rank = static_cast<std::int16_t>(row.integer(2));
  chunk.key = static_cast<std::uint64_t>(row.integer(3));
  chunk.rows = static_cast<std::uint32_t>(row.integer(4));
  chunk.checksum = static_cast<std::uint64_t>(row.integer(5));
  chunk.body = row.blob(6);
  if (computeChecksum(chunk) != chunk.checksum)
    throw inputError("chunk " + std::to_string(chunk.seq) + " (" + name(chunk.kind) +
                     (chunk.rank >= 0 ? " of rank " + std::to_string(chunk.rank) : "") +
                     ") is damaged: its checksum differs");
  return chunk;
}

constexpr const char* kColumns = "SELECT seq, kind, rank, key, rows, checksum, body FROM chunk ";

}  // namespace

SqliteSource::SqliteSource(const std::string& path)
    : db_(existingFile(path), Database::Mode::kReadOnly) {
  db_.execute("PRAGMA trusted_schema=OFF");
  db_.execute("PRAGMA mmap_size=0");
  db_.execute("PRAGMA cell_size_check=ON");
  sqlite3_limit(db_.handle(), SQLITE_LIMIT_LENGTH, static_cast<int>(kMaxChunkBytes));
  sqlite3_limit(db_.handle(), SQLITE_LIMIT_ATTACHED, 0);
  checkIdentity();
  checkSchema();
  restrictAccess();
}

void SqliteSource::checkIdentity() {
  std::int64_t id = 0;
  try {
    id = db_.pragma("application_id");
  } catch (const Error&) {
    throw inputError(db_.path() + " is not a RingScope trace");
  }
  if (id != kApplicationId) throw inputError(db_.path() + " is not a RingScope trace");
  const std::int64_t version = db_.pragma("user_version");
  if (version != kFormatVersion)
    throw inputError(db_.path() + " is a trace of format " + std::to_string(version) +
                     "; this RingScope reads format " + std::to_string(kFormatVersion));
}

void SqliteSource::checkSchema() {
  std::set<std::string> expected = {kCreateChunk, kCreateChunkIndex, kCreateSealed};
  Statement select(db_.handle(), "SELECT sql FROM sqlite_schema");
  while (select.step()) {
    if (expected.erase(select.text(0)) == 0)
      throw inputError(db_.path() +
                       " holds tables that a RingScope trace does not have; not opened");
  }
  if (!expected.empty()) throw inputError(db_.path() + " lacks tables of a RingScope trace");
}

void SqliteSource::restrictAccess() {
  sqlite3_set_authorizer(db_.handle(), authorize, nullptr);
}

void SqliteSource::readAll(const std::function<void(Chunk)>& take,
                           const std::function<void(std::string)>& damaged) {
  // Rows of values are passed over before their overflow pages are read, so large traces open fast.
  Statement select(db_.handle(), std::string(kColumns) + "WHERE kind<>? ORDER BY seq");
  select.bind(1, static_cast<std::int64_t>(ChunkKind::kValues));
  for (;;) {
    try {
      if (!select.step()) return;
    } catch (const Error& error) {
      // A broken page: what came before it is still good.
      damaged(std::string("the rest of the trace cannot be read: ") + error.what());
      return;
    }
    try {
      take(chunkFromRow(select));
    } catch (const Error& error) {
      damaged(error.what());
    }
  }
}

std::optional<Bytes> SqliteSource::readValues(std::uint64_t tensor_id) {
  Statement select(db_.handle(), std::string(kColumns) + "WHERE kind=? AND key=?");
  select.bind(1, static_cast<std::int64_t>(ChunkKind::kValues))
      .bind(2, static_cast<std::int64_t>(tensor_id));
  if (!select.step()) return std::nullopt;
  return chunkFromRow(select).body;
}

void SqliteSource::readRange(std::uint64_t first, std::uint64_t last,
                             const std::function<void(Chunk)>& take) {
  Statement select(db_.handle(), std::string(kColumns) + "WHERE seq>=? AND seq<=? ORDER BY seq");
  select.bind(1, static_cast<std::int64_t>(first)).bind(2, static_cast<std::int64_t>(last));
  while (select.step()) take(chunkFromRow(select));
}

}  // namespace ringscope::traces
