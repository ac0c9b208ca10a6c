// SPDX-License-Identifier: Apache-2.0
#include "traces/storage/sqlite_sink.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "traces/core/checksum.h"
#include "traces/storage/schema.h"

namespace ringscope::traces {
namespace {

/// Removes an older trace at `path`; refuses to touch anything else that is there.
void removeOldTrace(const std::string& path) {
  namespace fs = std::filesystem;
  if (!fs::exists(path)) return;
  if (!fs::is_regular_file(path))
    throw inputError(path + " is not a file that a trace can replace");
  if (fs::file_size(path) > 0) {
    std::array<char, 72> header{};
    std::ifstream(path, std::ios::binary).read(header.data(), header.size());
    const bool sqlite = std::memcmp(header.data(), "SQLite format 3", 16) == 0;
    if (!sqlite || std::memcmp(header.data() + 68, "RSCP", 4) != 0)
      throw inputError(path + " exists and is not a trace; choose another name for the new one");
  }
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) fs::remove(path + suffix, ignored);
  if (fs::exists(path)) throw inputError(path + " cannot be replaced: permission denied");
}

}  // namespace

SqliteSink::SqliteSink(const std::string& path) {
  removeOldTrace(path);
  try {
    db_ = std::make_unique<Database>(path, Database::Mode::kCreate);
    db_->execute("PRAGMA application_id=" + std::to_string(kApplicationId));
    db_->execute("PRAGMA user_version=" + std::to_string(kFormatVersion));
    for (const char* sql : {kCreateChunk, kCreateChunkIndex, kCreateSealed}) db_->execute(sql);
    db_->execute("PRAGMA journal_mode=WAL");
    db_->execute("PRAGMA synchronous=NORMAL");
    insert_ = std::make_unique<Statement>(
        db_->handle(),
        "INSERT INTO chunk(seq, kind, rank, key, rows, checksum, body) VALUES(?,?,?,?,?,?,?)");
  } catch (const Error& error) {
    throw inputError("the trace cannot be written: " + std::string(error.what()));
  }
}

SqliteSink::~SqliteSink() = default;

void SqliteSink::begin() {
  if (in_transaction_) return;
  db_->execute("BEGIN");
  in_transaction_ = true;
}

void SqliteSink::commit() {
  if (!in_transaction_) return;
  db_->execute("COMMIT");
  in_transaction_ = false;
}

void SqliteSink::insert(const Chunk& chunk) {
  begin();
  insert_->reset();
  insert_->bind(1, static_cast<std::int64_t>(chunk.seq))
      .bind(2, static_cast<std::int64_t>(chunk.kind))
      .bind(3, static_cast<std::int64_t>(chunk.rank))
      .bind(4, static_cast<std::int64_t>(chunk.key))
      .bind(5, static_cast<std::int64_t>(chunk.rows))
      .bind(6, static_cast<std::int64_t>(chunk.checksum))
      .bind(7, chunk.body);
  insert_->step();
  insert_->reset();
}

void SqliteSink::write(const Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  insert(chunk);
}

void SqliteSink::flush() {
  const std::lock_guard lock(mutex_);
  commit();
}

void SqliteSink::seal(const std::string& json) {
  const std::lock_guard lock(mutex_);
  const Bytes body(json.begin(), json.end());
  begin();
  Statement statement(db_->handle(), "INSERT INTO sealed(checksum, body) VALUES(?,?)");
  statement.bind(1, static_cast<std::int64_t>(checksum(body.data(), body.size()))).bind(2, body);
  statement.step();
  commit();
}

void SqliteSink::close() {
  const std::lock_guard lock(mutex_);
  commit();
  begin();
  mergeSmallChunks(ChunkKind::kEvents);
  mergeSmallChunks(ChunkKind::kMemory);
  commit();
  insert_.reset();
  db_->execute("PRAGMA journal_mode=DELETE");
  db_.reset();
}

namespace {

constexpr std::size_t kRowsPerChunk = 65536;

/// Decodes, joins and encodes again; the joined chunk takes the sequence number of the first.
template <typename Row>
class ChunkJoiner {
 public:
  using Decode = std::vector<Row> (*)(const Chunk&);
  using Encode = Bytes (*)(std::span<const Row>);
  ChunkJoiner(Decode decode, Encode encode) : decode_(decode), encode_(encode) {}

  /// Returns the finished chunk when `next` does not fit any more.
  bool add(const Chunk& next, Chunk& finished) {
    const bool full =
        !rows_.empty() && (next.rank != head_.rank || rows_.size() + next.rows > kRowsPerChunk);
    if (full) finished = finish();
    if (rows_.empty()) head_ = next;
    const auto rows = decode_(next);
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    return full;
  }
  bool empty() const { return rows_.empty(); }
  Chunk finish() {
    head_.rows = static_cast<std::uint32_t>(rows_.size());
    head_.body = encode_(rows_);
    head_.checksum = computeChecksum(head_);
    rows_.clear();
    return head_;
  }

 private:
  Decode decode_;
  Encode encode_;
  Chunk head_;
  std::vector<Row> rows_;
};

template <typename Row>
std::vector<Chunk> joined(Statement& select, ChunkKind kind, ChunkJoiner<Row> joiner) {
  std::vector<Chunk> result;
  Chunk finished;
  while (select.step()) {
    Chunk chunk;
    chunk.kind = kind;
    chunk.seq = static_cast<std::uint64_t>(select.integer(0));
    chunk.rank = static_cast<std::int16_t>(select.integer(1));
    chunk.rows = static_cast<std::uint32_t>(select.integer(2));
    chunk.body = select.blob(3);
    if (joiner.add(chunk, finished)) result.push_back(std::move(finished));
  }
  if (!joiner.empty()) result.push_back(joiner.finish());
  return result;
}

}  // namespace

void SqliteSink::mergeSmallChunks(ChunkKind kind) {
  std::vector<Chunk> chunks;
  {
    Statement select(db_->handle(),
                     "SELECT seq, rank, rows, body FROM chunk WHERE kind=? ORDER BY rank, seq");
    select.bind(1, static_cast<std::int64_t>(kind));
    chunks = kind == ChunkKind::kEvents
                 ? joined(select, kind, ChunkJoiner<Event>(decodeEvents, encodeEvents))
                 : joined(select, kind, ChunkJoiner<MemorySample>(decodeMemory, encodeMemory));
  }
  Statement remove(db_->handle(), "DELETE FROM chunk WHERE kind=?");
  remove.bind(1, static_cast<std::int64_t>(kind)).step();
  for (const Chunk& chunk : chunks) insert(chunk);
}

}  // namespace ringscope::traces
