// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace ringscope::traces {

/// The heads that each rank of a Ulysses group attends after the all-to-all from sequence to heads.
struct HeadSplit {
  std::int64_t query_heads = 0;  ///< per rank
  /// kv_heads[r] lists the KV heads that rank r needs, in the order of its query heads' groups.
  /// Several ranks need the same head when there are fewer KV heads than ranks.
  std::vector<std::vector<std::int64_t>> kv_heads;

  /// Splits the heads of a group of `ranks`. `query_heads` must be a multiple of `kv_heads`. Query
  /// heads beyond a multiple of `ranks` are left over at the end.
  static HeadSplit of(std::int64_t query_heads, std::int64_t kv_heads, int ranks);
};

}  // namespace ringscope::traces
