// SPDX-License-Identifier: Apache-2.0
#include "traces/format/storage/read_only.h"

#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "traces/format/core/error.h"
#include "traces/format/core/utf8.h"
#include "traces/format/schema/chunk.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
using Handle = std::unique_ptr<sqlite3, Close>;

constexpr int kBusyMs = 2000;

/// Reports whether `path` exists. Throws for anything but a plain file, because opening a pipe or a
/// link to another place could already do harm.
bool plainFileBeside(const fs::path& path) {
  std::error_code error;
  const auto status = fs::symlink_status(path, error);
  if (!fs::exists(status)) return false;
  if (!fs::is_regular_file(status))
    throw inputError(path.string() + " lies beside the trace and is not a plain file; not opened");
  return true;
}

/// Returns a URI that names exactly this path.
std::string uriOf(const fs::path& path, const char* parameters) {
  std::string uri = "file:";
  for (const char c : path.string()) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::strchr("/-_.", c)) {
      uri += c;
      continue;
    }
    char escaped[4];
    std::snprintf(escaped, sizeof escaped, "%%%02X", byte);
    uri += escaped;
  }
  return uri + parameters;
}

Handle open(const std::string& name, int flags, const char* vfs, const std::string& path) {
  sqlite3* raw = nullptr;
  const int result = sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, vfs);
  Handle db(raw);
  if (result != SQLITE_OK)
    throw inputError(path + ": " + (raw ? toPlainText(sqlite3_errmsg(raw)) : "out of memory"));
  sqlite3_busy_timeout(raw, kBusyMs);
  return db;
}

/// Opens the single file as it is. No file beside it is read, and nothing is locked.
Handle openAlone(const fs::path& file, const std::string& path) {
  return open(uriOf(file, "?immutable=1"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr, path);
}

/// Opens the file with the index of the WAL in memory instead of in a file beside it.
Handle openWithDeadWal(const fs::path& file, const std::string& path) {
  Handle db = open(file.string(), SQLITE_OPEN_READONLY, "unix-none", path);
  sqlite3_db_config(db.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_exec(db.get(), "PRAGMA locking_mode=EXCLUSIVE", nullptr, nullptr, nullptr);
  return db;
}

/// Reads the first bytes through SQLite's own descriptor. Closing another descriptor would drop the
/// locks that a recorder in this process holds on the file.
std::array<std::uint8_t, 128> readFileHead(sqlite3* db) {
  std::array<std::uint8_t, 128> head{};
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK && file &&
      file->pMethods) {
    const int result = file->pMethods->xRead(file, head.data(), head.size(), 0);
    if (result != SQLITE_OK && result != SQLITE_IOERR_SHORT_READ) head.fill(0);
  }
  return head;
}

void checkHeader(sqlite3* db, const std::string& path) {
  const auto header = readFileHead(db);
  const std::array<char, 4> id = {
      static_cast<char>(kApplicationId >> 24), static_cast<char>(kApplicationId >> 16),
      static_cast<char>(kApplicationId >> 8), static_cast<char>(kApplicationId)};
  if (std::memcmp(header.data(), "SQLite format 3", 16) != 0 ||
      std::memcmp(header.data() + 68, id.data(), id.size()) != 0)
    throw inputError(path + " is not a RingScope trace");
}

/// Reports whether a journal names a super-journal. A journal that belongs to several databases
/// ends with that name and this magic number.
bool namesSuperJournal(const fs::path& journal) {
  constexpr std::array<unsigned char, 8> kMagic = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  std::array<unsigned char, 8> end{};
  std::ifstream in(journal, std::ios::binary | std::ios::ate);
  const std::streamoff size = in.tellg();
  if (size < static_cast<std::streamoff>(end.size())) return false;
  in.seekg(size - static_cast<std::streamoff>(end.size()));
  in.read(reinterpret_cast<char*>(end.data()), end.size());
  return !in || end == kMagic;
}

/// A folder that only this user can read. It is removed with its content by the destructor.
class PrivateFolder {
 public:
  PrivateFolder() {
    std::string name = (fs::temp_directory_path() / "ringscope-rollback-XXXXXX").string();
    if (!::mkdtemp(name.data()))
      throw inputError("no private folder can be made in " + fs::temp_directory_path().string());
    path_ = name;
  }
  ~PrivateFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Opens the trace as it was before the change that a killed writer began. The copy is unlinked
/// when this returns; the open database stays readable.
Handle openRolledBack(const fs::path& file, const std::string& path) {
  const fs::path journal = file.string() + "-journal";
  const PrivateFolder folder;
  const fs::path copy = folder.path() / file.filename();
  std::error_code error;
  for (const char* suffix : {"", "-journal", "-wal"}) {
    const fs::path from = file.string() + suffix;
    if (*suffix && !plainFileBeside(from)) continue;
    if (!fs::copy_file(from, copy.string() + suffix, error))
      throw inputError(path + " was being changed when its writer ended, and " + from.string() +
                       " cannot be copied to undo that: " + error.message());
  }
  if (namesSuperJournal(copy.string() + "-journal"))
    throw inputError(journal.string() +
                     " is a journal over several databases, which no trace has; not opened");
  {
    const Handle writer = open(copy.string(), SQLITE_OPEN_READWRITE, nullptr, path);
    if (sqlite3_exec(writer.get(), "PRAGMA schema_version", nullptr, nullptr, nullptr) != SQLITE_OK)
      throw inputError(path + ": " + toPlainText(sqlite3_errmsg(writer.get())));
  }
  Handle db = openAlone(copy, path);
  checkHeader(db.get(), path);
  return db;
}

/// Reports whether a journal may be hot. A finished journal is empty or begins with zeros.
bool mayBeHot(const fs::path& journal) {
  return std::ifstream(journal, std::ios::binary).get() > 0;
}

/// Reports whether SQLite considers the journal hot. For a reader without write access SQLite
/// reports that instead of rolling back.
bool hasHotJournal(sqlite3* db) {
  sqlite3_exec(db, "PRAGMA schema_version", nullptr, nullptr, nullptr);
  return sqlite3_extended_errcode(db) == SQLITE_READONLY_ROLLBACK;
}

}  // namespace

std::array<std::uint8_t, 128> readFileHead(const std::string& path) {
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  return error ? std::array<std::uint8_t, 128>() : readFileHead(openAlone(file, path).get());
}

sqlite3* openForeignDatabase(const std::string& path) {
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  if (error || !fs::is_regular_file(file)) throw inputError(path + " is not a plain file");
  return openAlone(file, path).release();
}

ReadOnlyDatabase openReadOnly(const std::string& path) {
  std::error_code error;
  const fs::path file = fs::canonical(path, error);  // files beside a link are ignored; those
                                                     // beside its target count
  if (error) throw inputError(path + ": no such file");
  if (fs::is_directory(file)) throw inputError(path + " is a folder, not a trace");
  if (!fs::is_regular_file(file)) throw inputError(path + " is not a plain file, so not a trace");
  const bool journal = plainFileBeside(file.string() + "-journal");
  const bool wal = plainFileBeside(file.string() + "-wal");
  const bool index = plainFileBeside(file.string() + "-shm");
  checkHeader(openAlone(file, path).get(), path);
  auto in_use = journal || (wal && index) ? FileInUse::ifAny(file.string()) : std::nullopt;
  if (journal && !in_use && mayBeHot(file.string() + "-journal"))
    return {openRolledBack(file, path).release()};
  Handle db = in_use ? open(file.string(), SQLITE_OPEN_READONLY, nullptr, path)
              : wal  ? openWithDeadWal(file, path)
                     : openAlone(file, path);
  checkHeader(db.get(), path);
  if (in_use && journal && hasHotJournal(db.get())) {
    db.reset();
    return {openRolledBack(file, path).release()};
  }
  return {db.release(), std::move(in_use)};
}

}  // namespace ringscope::traces
