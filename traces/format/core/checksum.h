// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringscope::traces {

/// XXH3-64 of a byte range. Used as the checksum of chunks and as the identity of tensor values.
std::uint64_t checksum(const void* data, std::size_t bytes, std::uint64_t seed = 0);

}  // namespace ringscope::traces
