// SPDX-License-Identifier: Apache-2.0
#include "traces/format/storage/sqlite_source.h"

#include <sqlite3.h>

#include <cstring>
#include <set>

#include "traces/format/core/prose.h"
#include "traces/format/storage/schema.h"

namespace ringscope::traces {
namespace {

/// Decides about every action of every statement for SQLite: allows only reads of `chunk`.
int authorize(void*, int action, const char* table, const char*, const char*, const char*) {
  if (action == SQLITE_SELECT || action == SQLITE_TRANSACTION) return SQLITE_OK;
  if (action == SQLITE_READ && std::strcmp(table, "chunk") == 0) return SQLITE_OK;
  return SQLITE_DENY;
}

ChunkHeader headerFromRow(const Statement& row) {
  ChunkHeader chunk;
  chunk.seq = static_cast<std::uint64_t>(row.integer(0));
  const std::int64_t kind = row.integer(1);
  if (kind < 0 || kind >= static_cast<std::int64_t>(ChunkKind::kCount))
    throw inputError("chunk " + std::to_string(chunk.seq) + " is of an unknown kind");
  chunk.kind = static_cast<ChunkKind>(kind);
  chunk.rank = WorldRank::of(static_cast<std::int16_t>(row.integer(2)));
  chunk.key = static_cast<std::uint64_t>(row.integer(3));
  chunk.rows = static_cast<std::uint32_t>(row.integer(4));
  chunk.checksum = static_cast<std::uint64_t>(row.integer(5));
  return chunk;
}

Chunk chunkFromRow(const Statement& row) {
  Chunk chunk{headerFromRow(row), row.blob(6)};
  checkIntact(chunk);
  return chunk;
}

constexpr const char* kColumns = "SELECT seq, kind, rank, key, rows, checksum, body FROM chunk ";
/// Selects headers without the pages of bodies, so that large traces open fast.
constexpr const char* kHeaders = "SELECT seq, kind, rank, key, rows, checksum FROM chunk ";

/// Reads one chunk. `select` selects kColumns of one seq. Throws inputError when the chunk is
/// missing or damaged.
Chunk readOne(Statement& select, std::uint64_t seq) {
  select.reset();
  select.bind(1, static_cast<std::int64_t>(seq));
  bool there = false;
  try {
    there = select.step();
  } catch (const Error& error) {
    throw inputError("chunk " + std::to_string(seq) + " cannot be read: " + error.what());
  }
  if (!there) throw inputError("chunk " + std::to_string(seq) + " is not in the file any more");
  return chunkFromRow(select);
}

/// Reads a chunk whose header was listed. In a damaged tree its number can lead to another chunk.
Chunk readListed(Statement& select, const ChunkHeader& listed) {
  Chunk chunk = readOne(select, listed.seq);
  if (chunk.kind != listed.kind || chunk.key != listed.key || chunk.checksum != listed.checksum)
    throw inputError(describe(listed) + " cannot be read: another one is found in its place");
  return chunk;
}

}  // namespace

/// A use of the file, which is open while an object of this class exists. The user holds the mutex.
class SqliteSource::Use {
 public:
  explicit Use(SqliteSource& source) RINGSCOPE_REQUIRES(source.mutex_) : source_(source) {
    if (!source_.db_) source_.open();
  }
  ~Use() RINGSCOPE_UNCHECKED {  // the analysis cannot tell that source_ is the constructor's source
    if (source_.db_->isLive()) source_.db_.reset();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  sqlite3* handle() const RINGSCOPE_UNCHECKED { return source_.db_->handle(); }  // the same

 private:
  SqliteSource& source_;
};

namespace {

/// A read transaction. Everything that is read during its lifetime is of one moment.
class OneMoment {
 public:
  explicit OneMoment(sqlite3* db) : db_(db) {
    sqlite3_exec(db_, "BEGIN", nullptr, nullptr, nullptr);
  }
  ~OneMoment() { sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr); }
  OneMoment(const OneMoment&) = delete;
  OneMoment& operator=(const OneMoment&) = delete;

 private:
  sqlite3* db_;
};

}  // namespace

/// The state of one call of list().
struct SqliteSource::Listing {
  const Take& take;
  const Problem& problem;
  EventSummaries summaries;
  Statement& body;
  std::uint64_t last = 0;  ///< number of the newest chunk that was reached
};

SqliteSource::SqliteSource(const std::string& path) : path_(path) {
  const MutexLock lock(mutex_);
  const Use use(*this);
}

void SqliteSource::open() {
  const FileIdentity now = fileIdentity(path_), none;
  if (now != none && opened_first_ != none && now != opened_first_)
    throw inputError(path_ + " has been replaced by another recording");
  db_ = std::make_unique<Database>(path_, Database::Mode::kReadOnly);
  opened_first_ = now;
  try {
    db_->execute("PRAGMA trusted_schema=OFF");
    db_->execute("PRAGMA mmap_size=0");
    db_->execute("PRAGMA cell_size_check=ON");
    sqlite3_limit(db_->handle(), SQLITE_LIMIT_LENGTH, static_cast<int>(kMaxChunkBytes));
    sqlite3_limit(db_->handle(), SQLITE_LIMIT_ATTACHED, 0);
    checkIdentity();
    checkSchema();
    sqlite3_set_authorizer(db_->handle(), authorize, nullptr);
  } catch (const Error&) {
    db_.reset();
    throw;
  }
}

void SqliteSource::checkIdentity() {
  std::int64_t id = 0;
  try {
    id = db_->pragma("application_id");
  } catch (const Error&) {
    // The header is a trace's, so the file is shorter than the header says. SQLite rejects such a
    // file unless writable_schema tells it that the file may be wrong.
    cut_short_ = true;
    db_->execute("PRAGMA writable_schema=ON");
    id = db_->pragma("application_id");
  }
  if (id != kApplicationId) throw inputError(path_ + " is not a RingScope trace");
  const std::int64_t version = db_->pragma("user_version");
  if (version < kOldestFormat || version > kFormatVersion)
    throw inputError(path_ + " is a trace of format " + std::to_string(version) +
                     "; this RingScope reads formats " + std::to_string(kOldestFormat) + " to " +
                     std::to_string(kFormatVersion));
  version_ = static_cast<int>(version);
}

void SqliteSource::checkSchema() {
  std::set<std::string> expected = {kCreateChunk, kCreateChunkIndex, kCreateSealed};
  const std::set<std::string> names = {"chunk", "chunk_by_kind", "sealed"};
  Statement select(db_->handle(), "SELECT sql, name FROM sqlite_schema");
  while (select.step()) {
    if (expected.erase(select.text(0)) > 0) continue;
    if (names.contains(select.text(1)))
      throw inputError(path_ + " was written by another RingScope: its table '" + select.text(1) +
                       "' has other columns than format " + std::to_string(kFormatVersion) +
                       " has here; record it again, or open it with the one that wrote it");
    throw inputError(path_ + " holds tables that a RingScope trace does not have; not opened");
  }
  if (!expected.empty()) throw inputError(path_ + " lacks tables of a RingScope trace");
}

void SqliteSource::listRow(const Statement& row, Listing& listing) {
  try {
    const auto seq = static_cast<std::uint64_t>(row.integer(0));
    if (seq <= listing.last)
      listing.problem("chunk " + std::to_string(seq) + " stands where it does not belong");
    listing.last = seq;
    ChunkInfo info{headerFromRow(row), {}};
    attachSummary(info, listing.summaries);
    if (info.kind == ChunkKind::kValues) values_at_[info.key] = info.seq;
    const int version = version_;
    listing.take(info, [&] { return upgraded(readListed(listing.body, info), version); });
  } catch (const Error& error) {
    listing.problem(error.what());
  }
}

/// Reads all summaries. A summary that cannot be read only costs time later.
EventSummaries SqliteSource::readSummaries(const Problem& problem) {
  EventSummaries summaries;
  try {
    Statement select(db_->handle(), std::string(kColumns) + "WHERE kind=?");
    select.bind(1, static_cast<std::int64_t>(ChunkKind::kSummaries));
    while (select.step()) {
      try {
        addSummary(summaries, chunkFromRow(select));
      } catch (const Error& error) {
        problem(error.what());
      }
    }
  } catch (const Error&) {  // pages that cannot be read are reported when all chunks are listed
  }
  return summaries;
}

void SqliteSource::list(const Take& take, const Problem& problem) {
  const MutexLock lock(mutex_);
  const Use use(*this);
  const OneMoment moment(use.handle());
  if (cut_short_) problem("the file was cut short; what is left of it is shown");
  Statement select(use.handle(), std::string(kHeaders) + "ORDER BY seq");
  Statement body(use.handle(), std::string(kColumns) + "WHERE seq=?");
  Listing listing{take, problem, readSummaries(problem), body};
  try {
    while (select.step()) listRow(select, listing);
  } catch (const Error& error) {
    problem(std::string("a part of the trace cannot be read: ") + error.what());
    listWhatIsLeft(listing);
  }
}

/// Lists the chunks after a page that cannot be read. Each chunk is looked up by its number, on its
/// own path through the tree.
void SqliteSource::listWhatIsLeft(Listing& listing) {
  constexpr int kPatience = 10'000;  // most missing chunks in a row before the search stops
  Statement select(db_->handle(), std::string(kHeaders) + "WHERE seq=?");
  const std::uint64_t gap_begin = listing.last;
  std::uint64_t lost = 0, lost_since = 0;
  for (std::uint64_t seq = gap_begin + 1; lost_since < kPatience; ++seq) {
    select.reset();
    select.bind(1, static_cast<std::int64_t>(seq));
    try {
      ++lost_since;
      if (!select.step()) continue;
      lost += lost_since - 1;
      lost_since = 0;
      listRow(select, listing);
    } catch (const Error&) {
    }
  }
  if (lost > 0)
    listing.problem(describeCount(static_cast<std::int64_t>(lost), "chunk") + " between " +
                    std::to_string(gap_begin) + " and " + std::to_string(listing.last) +
                    " cannot be read");
}

Chunk SqliteSource::read(std::uint64_t seq) {
  const MutexLock lock(mutex_);
  const Use use(*this);
  Statement select(use.handle(), std::string(kColumns) + "WHERE seq=?");
  return upgraded(readOne(select, seq), version_);
}

std::optional<Bytes> SqliteSource::values(TensorId tensor) {
  const auto id = static_cast<std::uint64_t>(tensor.value());
  const MutexLock lock(mutex_);
  const Use use(*this);
  if (const auto known = values_at_.find(id); known != values_at_.end()) {
    Statement select(use.handle(), std::string(kColumns) + "WHERE seq=?");
    Chunk chunk = readOne(select, known->second);
    if (chunk.kind != ChunkKind::kValues || chunk.key != id)
      throw inputError("the values of a tensor cannot be read: another chunk is in their place");
    return std::move(chunk.body);
  }
  Statement select(use.handle(), std::string(kColumns) + "WHERE kind=? AND key=?");
  select.bind(1, static_cast<std::int64_t>(ChunkKind::kValues))
      .bind(2, static_cast<std::int64_t>(id));
  if (!select.step()) return std::nullopt;
  return chunkFromRow(select).body;
}

void SqliteSource::readRange(std::uint64_t first, std::uint64_t last,
                             const std::function<void(Chunk)>& take) {
  const MutexLock lock(mutex_);
  const Use use(*this);
  Statement select(use.handle(), std::string(kColumns) + "WHERE seq>=? AND seq<=? ORDER BY seq");
  select.bind(1, static_cast<std::int64_t>(first)).bind(2, static_cast<std::int64_t>(last));
  while (select.step()) take(upgraded(chunkFromRow(select), version_));
}

}  // namespace ringscope::traces
