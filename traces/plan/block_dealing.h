// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/records.h"
#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// How blocks of equal length are dealt to ranks by their work, each rank the same number. Blocks
/// of equal work keep their order.
enum class BlockDealing : std::uint8_t {
  /// The blocks are sorted by work, the greatest first, and dealt in rounds; every second round
  /// goes from the last rank to the first. The work is the number of key blocks that a block
  /// attends. This is _PTRRLoadBalancer of PyTorch 2.11
  /// (torch/distributed/tensor/experimental/_context_parallel/_load_balancer.py).
  kRoundRobin,
  /// The block with the greatest work goes to the rank with the least work so far that still has
  /// room, the lower rank first. The work is the number of attended pairs. This is the min-heap
  /// dispatch of MagiAttention (arXiv:2505.13211).
  kGreatestFirst
};

/// The tokens per block of PyTorch's balancer, which are the default BLOCK_SIZE of a BlockMask.
inline constexpr std::int64_t kPtrrBlock = 128;

/// Returns the tokens per block with which the engine deals a sequence by ptrr. These are
/// kPtrrBlock, or the largest smaller power of two with which each rank gets the same number of
/// blocks. `cp` divides `length`.
std::int64_t ptrrBlock(std::int64_t length, std::int32_t cp);

/// Deals the blocks of a sequence with these documents, each of which is attended causally. Returns
/// the blocks of each rank in global order. block · cp divides `length`.
std::vector<std::vector<ShardRun>> dealBlocks(BlockDealing dealing, std::int64_t length,
                                              const std::vector<TokenRun>& documents,
                                              std::int64_t block, std::int32_t cp);

}  // namespace ringscope::traces
