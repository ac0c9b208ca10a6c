// SPDX-License-Identifier: Apache-2.0
#include "traces/format/storage/sqlite_sink.h"

#include <chrono>
#include <thread>

#include "traces/format/core/checksum.h"
#include "traces/format/core/output_file.h"
#include "traces/format/storage/chunk_source.h"
#include "traces/format/storage/schema.h"
#include "traces/format/storage/trace_path.h"

namespace ringscope::traces {
namespace {

/// Reports whether a chunk of this kind shows that the run is under way: something was computed or
/// moved.
bool isOfARunUnderWay(ChunkKind kind) {
  return kind == ChunkKind::kEvents || kind == ChunkKind::kMemory || kind == ChunkKind::kValues ||
         kind == ChunkKind::kTensors;
}

}  // namespace

SqliteSink::SqliteSink(const std::string& path, ReplaceTrace when, UnclosedTrace unclosed)
    : path_(path), unclosed_(unclosed) {
  try {
    checkTracePath(path);
    lock_.emplace(path, RecordingLock::File::kThere);
    if (when == ReplaceTrace::kAtOnce || !holdsTrace(path)) create();
  } catch (const Error& error) {
    throw inputError("the trace cannot be written: " + std::string(error.what()));
  }
}

/// Creates the file. When that fails, as on a full disk, no file is left that is not a trace.
void SqliteSink::create() {
  removeTrace(path_);
  lock_.emplace(path_, RecordingLock::File::kNew);
  try {
    makeTables();
  } catch (const Error&) {
    insert_.reset();
    db_.reset();
    removeTrace(path_);
    throw;
  }
}

/// Creates the tables in one transaction, without waiting for the disk. A kill meanwhile leaves an
/// empty file or a valid trace.
void SqliteSink::makeTables() {
  db_ = std::make_unique<Database>(path_, Database::Mode::kCreate);
  db_->execute("PRAGMA synchronous=OFF");
  db_->execute("BEGIN");
  db_->execute("PRAGMA application_id=" + std::to_string(kApplicationId));
  db_->execute("PRAGMA user_version=" + std::to_string(kFormatVersion));
  for (const char* sql : {kCreateChunk, kCreateChunkIndex, kCreateSealed}) db_->execute(sql);
  db_->execute("COMMIT");
  if (unclosed_ == UnclosedTrace::kIsKept) {
    db_->execute("PRAGMA journal_mode=WAL");
    db_->execute("PRAGMA synchronous=NORMAL");
  } else {
    db_->execute("PRAGMA journal_mode=MEMORY");
  }
  insert_ = std::make_unique<Statement>(
      db_->handle(),
      "INSERT INTO chunk(seq, kind, rank, key, rows, checksum, body) VALUES(?,?,?,?,?,?,?)");
}

/// Replaces the older trace, which is gone from here on.
void SqliteSink::beginRun() {
  if (on_replace_) on_replace_();
  create();
  for (const Chunk& chunk : held_) insert(chunk);
  for (const std::string& json : held_seals_) insertSealed(json);
  held_.clear();
  held_seals_.clear();
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
  transaction_bytes_ = 0;
}

void SqliteSink::insert(const Chunk& chunk) {
  // A full disk loses a whole transaction, so every transaction must be small.
  constexpr std::size_t kTransactionBytes = std::size_t{256} << 10;
  if (transaction_bytes_ > kTransactionBytes) commit();
  begin();
  transaction_bytes_ += chunk.body.size();
  insertRow(chunk);
}

void SqliteSink::insertRow(const Chunk& chunk) {
  insert_->reset();
  insert_->bind(1, static_cast<std::int64_t>(chunk.seq))
      .bind(2, static_cast<std::int64_t>(chunk.kind))
      .bind(3, std::int64_t{chunk.rank.value()})
      .bind(4, static_cast<std::int64_t>(chunk.key))
      .bind(5, static_cast<std::int64_t>(chunk.rows))
      .bind(6, static_cast<std::int64_t>(chunk.checksum))
      .bind(7, chunk.body);
  insert_->step();
  insert_->reset();
}

void SqliteSink::onReplace(std::function<void()> call) {
  const MutexLock lock(mutex_);
  on_replace_ = std::move(call);
}

void SqliteSink::write(const Chunk& chunk) {
  const MutexLock lock(mutex_);
  if (!db_ && isOfARunUnderWay(chunk.kind)) beginRun();
  db_ ? insert(chunk) : held_.push_back(chunk);
}

void SqliteSink::flush() {
  const MutexLock lock(mutex_);
  commit();
}

void SqliteSink::seal(const std::string& json) {
  const MutexLock lock(mutex_);
  if (!db_) return held_seals_.push_back(json);
  insertSealed(json);
  commit();
}

void SqliteSink::insertSealed(const std::string& json) {
  const Bytes body(json.begin(), json.end());
  begin();
  Statement statement(db_->handle(), "INSERT INTO sealed(checksum, body) VALUES(?,?)");
  statement.bind(1, static_cast<std::int64_t>(checksum(body.data(), body.size()))).bind(2, body);
  statement.step();
}

void SqliteSink::close() {
  const MutexLock lock(mutex_);
  if (!db_) return lock_.reset();  // the run never began: the older trace stays
  commit();
  // Everything is in the file now, even if a following step fails.
  try {
    mergeSmallChunks();
  } catch (const Error&) {  // the disk has room for the chunks but not for their copies
    rollBack();
  }
  insert_.reset();
  leaveOneFile();
  db_.reset();
  if (unclosed_ == UnclosedTrace::kIsNoTrace) waitForDisk(path_);
  lock_.reset();
}

void SqliteSink::rollBack() {
  in_transaction_ = false;
  try {
    db_->execute("ROLLBACK");
  } catch (const Error&) {  // SQLite has already rolled back
  }
}

/// Turns the WAL off, which leaves a single file. Waits for a reader that is active at this moment;
/// if the reader stays, the WAL is kept, which is as good.
void SqliteSink::leaveOneFile() {
  using namespace std::chrono;
  for (const auto until = steady_clock::now() + seconds(2); steady_clock::now() < until;) {
    try {
      return db_->execute("PRAGMA journal_mode=DELETE");
    } catch (const Error&) {
      std::this_thread::sleep_for(milliseconds(5));
    }
  }
}

void SqliteSink::mergeSmallChunks() {
  db_->execute("BEGIN");
  in_transaction_ = true;
  for (const ChunkKind kind : {ChunkKind::kEvents, ChunkKind::kMemory}) mergeSmallChunks(kind);
  commit();
}

namespace {

/// The number of rows that are decoded in a few milliseconds. The events on screen are then in one
/// or two chunks per rank.
constexpr std::size_t kRowsPerChunk = 16'384;

struct Joined {
  std::vector<Chunk> chunks;
  std::vector<Chunk> summaries;  ///< summaries of the chunks of events
};

/// Joins the chunks of one rank as far as they fit into one chunk, which takes the sequence number
/// of the first of them.
template <typename Row>
Joined joined(Statement& select) {
  Joined result;
  Chunk head;
  std::vector<Row> rows;
  auto finish = [&] {
    Chunk chunk = makeChunk(std::span<const Row>(rows));
    chunk.seq = head.seq;
    chunk.rank = head.rank;
    chunk.checksum = computeChecksum(chunk);
    if constexpr (std::is_same_v<Row, Event>)
      result.summaries.push_back(summaryChunk(chunk, summarizeEvents(rows)));
    result.chunks.push_back(std::move(chunk));
    rows.clear();
  };
  while (select.step()) {
    Chunk chunk;
    chunk.kind = ChunkOf<Row>::kKind;
    chunk.seq = static_cast<std::uint64_t>(select.integer(0));
    chunk.rank = WorldRank::of(static_cast<std::int16_t>(select.integer(1)));
    chunk.rows = static_cast<std::uint32_t>(select.integer(2));
    chunk.body = select.blob(3);
    if (!rows.empty() && (chunk.rank != head.rank || rows.size() + chunk.rows > kRowsPerChunk))
      finish();
    const auto more = decodeRows<Row>(chunk);
    rows.insert(rows.end(), more.begin(), more.end());
    if (rows.size() == more.size()) head = std::move(chunk);
  }
  if (!rows.empty()) finish();
  return result;
}

}  // namespace

void SqliteSink::mergeSmallChunks(ChunkKind kind) {
  Joined all;
  {
    Statement select(db_->handle(),
                     "SELECT seq, rank, rows, body FROM chunk WHERE kind=? ORDER BY rank, seq");
    select.bind(1, static_cast<std::int64_t>(kind));
    all = kind == ChunkKind::kEvents ? joined<Event>(select) : joined<MemorySample>(select);
  }
  Statement remove(db_->handle(), "DELETE FROM chunk WHERE kind=?");
  remove.bind(1, static_cast<std::int64_t>(kind)).step();
  for (const Chunk& chunk : all.chunks) insertRow(chunk);
  insertLast(std::move(all.summaries));
}

/// Inserts chunks with numbers after the last existing one.
void SqliteSink::insertLast(std::vector<Chunk> chunks) {
  Statement last(db_->handle(), "SELECT max(seq) FROM chunk");
  auto seq = last.step() ? static_cast<std::uint64_t>(last.integer(0)) : 0;
  last.reset();
  for (Chunk& chunk : chunks) {
    chunk.seq = ++seq;
    chunk.checksum = computeChecksum(chunk);
    insertRow(chunk);
  }
}

}  // namespace ringscope::traces
