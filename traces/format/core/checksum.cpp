// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ringscope::traces {

std::uint64_t checksum(const void* data, std::size_t bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

}  // namespace ringscope::traces
