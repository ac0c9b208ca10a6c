// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "traces/format/schema/records.h"

namespace ringscope::traces {

inline constexpr std::size_t kMemoryCategories = static_cast<std::size_t>(MemoryCategory::kCount);
using BytesByCategory = std::array<std::int64_t, kMemoryCategories>;

}  // namespace ringscope::traces
