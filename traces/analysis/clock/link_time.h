// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "traces/analysis/clock/hardware.h"

namespace ringscope::traces {

/// How long the bytes of a message occupy a link, in nanoseconds: one GB/s is a byte a nanosecond.
inline std::int64_t wireNs(const Link& link, std::int64_t bytes) {
  if (link.gigabytes_per_second == 0) return 0;
  return std::llround(static_cast<double>(bytes) / link.gigabytes_per_second);
}

inline std::int64_t latencyNs(const Link& link) {
  return std::llround(link.latency_us * 1000);
}

/// From the root of a binary tree of n ranks to its leaves: ⌈log₂ n⌉.
inline std::int64_t treeDepth(std::int64_t ranks) {
  return std::bit_width(static_cast<std::uint32_t>(ranks - 1));
}

/// The parts of a transfer's time: what bandwidth does not change, and what bytes take.
struct TransferTime {
  std::int64_t fixed_ns = 0, wire_ns = 0;
  std::int64_t totalNs() const { return fixed_ns + wire_ns; }
};

/// An all-reduce over n ranks: the quicker of a ring, 2(n − 1) steps of bytes ÷ n (the factor of
/// nccl-tests' doc/PERFORMANCE.md), and a binary tree there and back, 2⌈log₂ n⌉ steps of all bytes.
inline TransferTime allReduceTime(const Link& link, std::int64_t bytes, std::int32_t ranks) {
  if (ranks < 2) return {};
  const std::int64_t n = ranks, latency = latencyNs(link);
  const double moved = 2.0 * static_cast<double>(n - 1) / static_cast<double>(n);
  const double rate = link.gigabytes_per_second;
  const std::int64_t wire = rate == 0 ? 0 : std::llround(moved * static_cast<double>(bytes) / rate);
  const TransferTime ring{2 * (n - 1) * latency, wire};
  const TransferTime tree{2 * treeDepth(n) * latency, 2 * treeDepth(n) * wireNs(link, bytes)};
  return ring.totalNs() <= tree.totalNs() ? ring : tree;
}
inline std::int64_t allReduceNs(const Link& link, std::int64_t bytes, std::int32_t ranks) {
  return allReduceTime(link, bytes, ranks).totalNs();
}

}  // namespace ringscope::traces
