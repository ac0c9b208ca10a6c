// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringscope::traces {

/// Returns the XXH3-64 of a byte range. It is the checksum of a chunk's header and body.
std::uint64_t checksum(const void* data, std::size_t bytes, std::uint64_t seed = 0);

}  // namespace ringscope::traces
