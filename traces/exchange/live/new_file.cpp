// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/live/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

[[noreturn]] void failToWrite(const std::string& path) {
  throw inputError(path + " cannot be written: " + std::strerror(errno));
}

}  // namespace

NewFile::NewFile(const std::string& path)
    : path_(path),
      descriptor_(
          ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) {
  if (descriptor_ < 0) failToWrite(path);
}

NewFile::~NewFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

NewFile& NewFile::operator=(NewFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void NewFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) failToWrite(path_);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void NewFile::close(const std::string& final_path) {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0) failToWrite(path_);
  if (!final_path.empty() && std::rename(path_.c_str(), final_path.c_str()) != 0)
    failToWrite(path_);
}

}  // namespace ringscope::traces
