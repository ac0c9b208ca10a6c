// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace ringscope::traces {

/// The whole content of a plain file. A file that is larger than `most_bytes`, or than half of the
/// memory that is free, is refused before any of it is read: a sparse file claims more than any
/// disk has. Throws inputError that names the file.
std::string readFile(const std::string& path,
                     std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());
std::vector<std::uint8_t> readFileBytes(const std::string& path);
/// The `size` bytes of a plain file from byte `begin` on. A link is not followed. Throws inputError
/// that names the file, also where it ends before them.
std::vector<std::uint8_t> readFilePart(const std::string& path, std::uint64_t begin,
                                       std::uint64_t size);

/// Which file a path leads to, whatever its names are; 0, 0 when it leads to none.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
FileIdentity fileIdentity(const std::string& path);

/// Bytes that can be had without making the machine or a limit of this process fail.
std::uint64_t availableMemory();

}  // namespace ringscope::traces
