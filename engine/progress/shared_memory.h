// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

namespace ringscope::engine {

/// Anonymous zeroed memory that child processes share. The creator keeps the descriptor open across
/// exec and passes its number in the child's environment.
class SharedMemory {
 public:
  /// Allocates the memory. Throws runFailed if there is none.
  explicit SharedMemory(std::size_t bytes);
  /// Returns the memory whose descriptor the parent left in this environment variable, or nullopt.
  static std::optional<SharedMemory> inherited(const char* variable, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;

  void* data() const { return data_; }
  int descriptor() const { return fd_; }

 private:
  SharedMemory(int fd, void* data, std::size_t bytes) : fd_(fd), data_(data), bytes_(bytes) {}

  int fd_ = -1;  // -1: inherited, and not closed by this object
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace ringscope::engine
