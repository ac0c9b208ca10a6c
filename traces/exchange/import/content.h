// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace ringscope::traces {

/// The content of an imported file. The content of a gzip file is what was compressed.
struct FileContent {
  std::string bytes;
  std::string damage;  ///< why a gzip file could not be read to its end; empty when it could
};

/// Returns the content of a plain file. Throws inputError that names the file when it cannot be
/// read, or when its content is larger than `most_bytes` or than half of the free memory.
FileContent readContent(const std::string& path,
                        std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());

/// Returns the first bytes of the content of a plain file, padded with zeros.
std::array<std::uint8_t, 128> readContentHead(const std::string& path);

/// Reports whether text begins as a JSON object, and names `key` in quotes.
bool beginsAsObjectWith(std::span<const std::uint8_t> head, std::string_view key);

/// Returns a file's name without the endings of a compressed file and of a format.
std::string nameWithoutEndings(const std::string& path);

/// Reports whether a file's name ends with `ending`, or with `ending` and ".gz".
bool hasEnding(std::string_view path, std::string_view ending);

}  // namespace ringscope::traces
