// SPDX-License-Identifier: Apache-2.0
#include "traces/format/storage/trace_path.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "traces/format/core/error.h"
#include "traces/format/core/output_file.h"
#include "traces/format/storage/recording_lock.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> kBeside = {"-wal", "-shm", "-journal"};

std::array<char, 72> readFileHead(const std::string& path) {
  std::array<char, 72> head{};
  std::ifstream(path, std::ios::binary).read(head.data(), head.size());
  return head;
}

bool isTrace(const std::string& path) {
  const auto head = readFileHead(path);
  return std::memcmp(head.data(), "SQLite format 3", 16) == 0 &&
         std::memcmp(head.data() + 68, "RSCP", 4) == 0;
}

/// Reports whether SQLite left this file beside a database. The files that SQLite leaves begin with
/// one of these magic numbers.
bool isLeftBySqlite(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return false;
  if (fs::file_size(path, error) == 0) return true;
  const auto head = readFileHead(path);
  for (const char* magic :
       {"\x37\x7f\x06\x82", "\x37\x7f\x06\x83", "\xd9\xd5\x05\xf9", "\x18\xe2\x2d\x00", "\0\0\0\0"})
    if (std::memcmp(head.data(), magic, 4) == 0) return true;
  return false;
}

/// Checks everything except whether somebody records into the file.
void checkReplaceable(const std::string& path) {
  std::error_code error;
  checkWritable(path);
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    throw inputError(path + " is not a file that a trace can replace");
  if (holdsTrace(path) && !isTrace(path))
    throw inputError(path + " exists and is not a trace; choose another name for the new one");
  for (const char* suffix : kBeside)
    if (fs::exists(fs::symlink_status(path + suffix, error)) && !isLeftBySqlite(path + suffix))
      throw inputError(path + suffix +
                       " lies where SQLite keeps a file of its own; choose another name");
}

}  // namespace

bool holdsTrace(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && fs::file_size(path, error) > 0;
}

void checkTracePath(const std::string& path) {
  checkReplaceable(path);
  if (holdsTrace(path)) const RecordingLock nobody_records(path, RecordingLock::File::kThere);
}

void removeBeside(const std::string& path) {
  std::error_code error;
  for (const char* suffix : kBeside) fs::remove(path + suffix, error);
}

void removeTrace(const std::string& path) {
  checkReplaceable(path);
  std::error_code error;
  removeBeside(path);
  fs::remove(path, error);
  if (fs::exists(path, error)) throw inputError(path + " cannot be replaced: permission denied");
}

}  // namespace ringscope::traces
