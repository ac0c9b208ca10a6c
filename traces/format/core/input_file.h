// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace ringscope::traces {

/// Returns the whole content of a plain file. A file that is larger than `most_bytes`, or than half
/// of the free memory, is rejected before it is read, because a sparse file can claim any size.
/// Throws inputError that names the file.
std::string readFile(const std::string& path,
                     std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());
std::vector<std::uint8_t> readFileBytes(const std::string& path);
/// Returns `size` bytes of a plain file, from byte `begin` on. Does not follow a link. Throws
/// inputError that names the file, also when the file ends too early.
std::vector<std::uint8_t> readFilePart(const std::string& path, std::uint64_t begin,
                                       std::uint64_t size);

/// The file that a path leads to, independent of the path's spelling. Both fields are 0 when the
/// path leads to no file.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
FileIdentity fileIdentity(const std::string& path);

/// Returns the bytes of memory that can be allocated before the machine or a limit of this process
/// fails.
std::uint64_t availableMemory();

}  // namespace ringscope::traces
