// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

/// The file or folder that a path leads to, and the names below it that do not exist yet.
struct FilePlace {
  dev_t device = 0;
  ino_t inode = 0;
  std::string missing;

  friend bool operator==(const FilePlace&, const FilePlace&) = default;
};

std::optional<FilePlace> placeFor(const fs::path& path) {
  struct stat status = {};
  std::error_code error;
  fs::path there = fs::weakly_canonical(path, error), missing;
  if (error) return std::nullopt;
  while (::stat(there.c_str(), &status) != 0) {
    if (there == there.parent_path()) return std::nullopt;
    missing = missing.empty() ? there.filename() : there.filename() / missing;
    there = there.parent_path();
  }
  return FilePlace{status.st_dev, status.st_ino, missing.string()};
}

std::string reason(int error) {
  return std::generic_category().message(error);
}

/// Returns the path of a file of this name with links followed.
fs::path targetOf(const std::string& path) {
  std::error_code error;
  const fs::path there = fs::weakly_canonical(path, error);
  if (path.empty() || error)
    throw inputError((path.empty() ? "a file without a name" : path) + " cannot be written" +
                     (error ? ": " + error.message() : ""));
  return fs::absolute(there);
}

void checkApart(const NamedPath& output, const NamedPath& other) {
  std::error_code error;
  const fs::file_type type = fs::status(output.path, error).type();
  const bool shareable = type == fs::file_type::character || type == fs::file_type::fifo;
  if (shareable || !isSameFile(output.path, other.path)) return;
  throw inputError(output.option + " " + output.path + " is the same file as " + other.option +
                   " " + other.path + "; nothing was written, name another");
}

}  // namespace

bool isSameFile(const std::string& a, const std::string& b) {
  const auto first = placeFor(a), second = placeFor(b);
  return first && first == second;
}

void checkWritable(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) throw inputError(path + " cannot be written: it is a folder");
  if (fs::exists(status) && ::access(path.c_str(), W_OK) != 0)
    throw inputError(path + " cannot be written: " + reason(errno));
  if (fs::exists(status) && !fs::is_regular_file(status)) return;
  const fs::path folder = targetOf(path).parent_path();
  if (!fs::is_directory(folder, error))
    throw inputError(path + " cannot be written: there is no folder " + folder.string());
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw inputError(path + " cannot be written: " + reason(errno));
}

void checkWritableFolder(const std::string& path) {
  std::error_code error;
  fs::path there = fs::absolute(path, error);
  while (!fs::exists(there, error) && there != there.parent_path()) there = there.parent_path();
  if (!fs::is_directory(there, error))
    throw inputError(path + " cannot be made: " + there.string() + " is not a folder");
  if (::access(there.c_str(), W_OK | X_OK) != 0)
    throw inputError(path + " cannot be written: " + reason(errno));
}

void checkOutputs(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs) {
  std::vector<NamedPath> others = inputs;
  for (const NamedPath& output : outputs) {
    if (output.path.empty()) continue;
    for (const NamedPath& other : others)
      if (!other.path.empty()) checkApart(output, other);
    others.push_back(output);
    checkWritable(output.path);
  }
}

void waitForDisk(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  if (fd >= 0) ::close(fd);
  if (!synced) throw inputError(path + " could not be written in full");
}

OutputFile::OutputFile(const std::string& path) : path_(path), target_(path) {
  std::error_code error;
  checkWritable(path);
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    stream_.open(path, std::ios::binary);
    if (!stream_) fail(errno);
    return;
  }
  target_ = targetOf(path).string();
  std::random_device random;
  for (int attempt = 0;; ++attempt) {
    char suffix[20];
    std::snprintf(suffix, sizeof suffix, ".part-%08x", random());
    temporary_ = target_ + suffix;
    const int fd = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST && attempt < 100) continue;
    const int failure = errno;
    if (fd < 0) temporary_.clear();
    if (fd < 0) fail(failure);
    if (fs::exists(status)) ::fchmod(fd, static_cast<mode_t>(status.permissions()));
    ::close(fd);
    break;
  }
  stream_.open(temporary_, std::ios::binary);
  if (!stream_) fail(errno);
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::fail(int error) const {
  throw inputError(path_ + " cannot be written: " + reason(error));
}

void OutputFile::publish() {
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void OutputFile::finish() {
  stream_.close();
  if (!stream_) throw inputError(path_ + " could not be written in full; is the disk full?");
  publish();
}

}  // namespace ringscope::traces
