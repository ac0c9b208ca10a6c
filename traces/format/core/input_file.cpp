// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/input_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

/// Returns the value of the line of a file of /proc that begins with `key`, in bytes; 0 when there
/// is no such line.
std::uint64_t procBytes(const char* path, const std::string& key) {
  std::ifstream in(path);
  std::string word;
  std::uint64_t kib = 0;
  while (in >> word)
    if (word == key) return in >> kib ? kib << 10 : 0;
  return 0;
}

class Descriptor {
 public:
  /// Opens the path without waiting when it is a pipe.
  explicit Descriptor(const std::string& path, int flags = 0)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Returns the size of a plain file in bytes.
std::uint64_t byteSize(const Descriptor& file, const std::string& path) {
  if (file.get() < 0)
    throw inputError(path + ": " +
                     (errno == ENOENT ? "no such file" : std::generic_category().message(errno)));
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw inputError(path + ": is not a plain file");
  return static_cast<std::uint64_t>(status.st_size);
}

/// Throws when `size` is more than half of the free memory. A small file is not checked, because
/// reading /proc takes longer than reading the file.
void refuseWithoutMemory(const std::string& path, std::uint64_t size) {
  constexpr std::uint64_t kLittle = 1 << 20;
  if (size <= kLittle) return;
  if (const std::uint64_t free = availableMemory(); size > free / 2)
    throw inputError(path + ": has " + std::to_string(size >> 20) + " MiB; " +
                     std::to_string(free >> 20) + " MiB of memory are free");
}

template <typename Content>
Content readContent(const Descriptor& file, const std::string& path, std::uint64_t begin,
                    std::uint64_t size) {
  refuseWithoutMemory(path, size);
  Content content;
  content.resize(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n =
        ::pread(file.get(), content.data() + done, size - done, static_cast<off_t>(begin + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw inputError(path + ": cannot be read in full");
    done += static_cast<std::size_t>(n);
  }
  return content;
}

template <typename Content>
Content readAs(const std::string& path, std::uint64_t most_bytes) {
  const Descriptor file(path);
  const std::uint64_t size = byteSize(file, path);
  if (size > most_bytes)
    throw inputError(path + ": has " + std::to_string(size) + " bytes; " +
                     std::to_string(most_bytes) + " are the most that it can have");
  return readContent<Content>(file, path, 0, size);
}

}  // namespace

std::uint64_t availableMemory() {
  std::uint64_t free = procBytes("/proc/meminfo", "MemAvailable:");
  if (free == 0) free = std::uint64_t{1} << 40;  // not Linux: the amount of free memory is unknown
  rlimit limit = {};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const std::uint64_t used = procBytes("/proc/self/status", "VmSize:");
    free = std::min<std::uint64_t>(free, limit.rlim_cur > used ? limit.rlim_cur - used : 0);
  }
  return free;
}

std::string readFile(const std::string& path, std::uint64_t most_bytes) {
  return readAs<std::string>(path, most_bytes);
}

std::vector<std::uint8_t> readFileBytes(const std::string& path) {
  return readAs<std::vector<std::uint8_t>>(path, std::numeric_limits<std::uint64_t>::max());
}

std::vector<std::uint8_t> readFilePart(const std::string& path, std::uint64_t begin,
                                       std::uint64_t size) {
  const Descriptor file(path, O_NOFOLLOW);
  const std::uint64_t all = byteSize(file, path);
  if (begin > all || size > all - begin)
    throw inputError(path + ": ends before byte " + std::to_string(begin + size));
  return readContent<std::vector<std::uint8_t>>(file, path, begin, size);
}

FileIdentity fileIdentity(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

}  // namespace ringscope::traces
