// SPDX-License-Identifier: Apache-2.0
#include "engine/progress/shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "traces/format/core/error.h"

namespace ringscope::engine {
namespace {

/// Maps the memory; returns null if that fails.
void* mapped(int fd, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes) : fd_(::memfd_create("ringscope", 0)), bytes_(bytes) {
  if (fd_ >= 0 && ::ftruncate(fd_, static_cast<off_t>(bytes)) == 0) data_ = mapped(fd_, bytes);
  if (data_) return;
  if (fd_ >= 0) ::close(fd_);
  throw runFailed("there is no memory for rank processes to share");
}

std::optional<SharedMemory> SharedMemory::inherited(const char* variable, std::size_t bytes) {
  const char* fd = std::getenv(variable);
  void* memory = fd ? mapped(std::atoi(fd), bytes) : nullptr;
  if (!memory) return std::nullopt;
  return SharedMemory(-1, memory, bytes);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_) {}

SharedMemory::~SharedMemory() {
  if (data_) ::munmap(data_, bytes_);
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace ringscope::engine
