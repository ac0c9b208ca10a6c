// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace ringscope::traces {

/// Which heads each rank of a group attends once the sequence has been turned into heads.
struct HeadSplit {
  std::int64_t query_heads = 0;  ///< of each rank
  /// kv_heads[r]: the KV heads that rank r needs, in the order of its query heads' groups; a head
  /// may be needed by several ranks (fewer KV heads than ranks).
  std::vector<std::vector<std::int64_t>> kv_heads;

  /// query_heads divides by kv_heads. What does not divide by ranks is left over at the end.
  static HeadSplit of(std::int64_t query_heads, std::int64_t kv_heads, int ranks);
};

}  // namespace ringscope::traces
