// SPDX-License-Identifier: Apache-2.0
// A gzip file. Its content is limited, because a few bytes can describe a thousand times as many.
#include "traces/format/core/inflate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  ringscope::traces::inflate({reinterpret_cast<const char*>(data), size}, kMostBytes);
  return 0;
}
