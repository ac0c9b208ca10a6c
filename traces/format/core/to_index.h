// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringscope::traces {

/// Returns a recorded index as an index into a container. `index` must not be negative.
constexpr std::size_t toIndex(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace ringscope::traces
