// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ringscope::traces {

/// The content of compressed bytes.
struct Inflated {
  std::string bytes;
  std::string damage;  ///< why the bytes could not be read to their end; empty when they could
  bool full = false;   ///< there is more content than was asked for
};

/// Reports whether bytes begin as a gzip file does.
bool beginsAsGzip(std::string_view bytes);

/// Returns the content of a gzip file (RFC 1952), or its first `most_bytes` bytes. Damaged bytes
/// give the content before the damage.
Inflated inflate(std::string_view gzip, std::uint64_t most_bytes);

}  // namespace ringscope::traces
