// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "traces/analysis/clock/hardware.h"
#include "traces/analysis/clock/program.h"

namespace ringscope::traces {

/// Returns the time for which a message occupies a link. One GB/s is one byte per nanosecond.
inline std::int64_t wireNs(const Link& link, std::int64_t bytes) {
  if (link.gigabytes_per_second == 0) return 0;
  return std::llround(static_cast<double>(bytes) / link.gigabytes_per_second);
}
inline std::int64_t latencyNs(const Link& link) {
  return std::llround(link.latency_us * 1000);
}
inline std::int64_t transferFloorNs(const Hardware& hardware) {
  return std::llround(hardware.floors.collective_us * 1000);
}

/// The time of a transfer: a part that bandwidth does not change, and the time of its bytes.
struct TransferTime {
  std::int64_t fixed_ns = 0, wire_ns = 0;
  std::int64_t totalNs() const { return fixed_ns + wire_ns; }
  /// Returns this time, or the floor if that is longer.
  TransferTime atLeast(std::int64_t floor_ns) const {
    return totalNs() < floor_ns ? TransferTime{floor_ns, 0} : *this;
  }
};

/// Returns the time of a message on a free link.
inline TransferTime messageTime(std::int64_t bytes, const Hardware& hardware) {
  return TransferTime{latencyNs(hardware.link), wireNs(hardware.link, bytes)}.atLeast(
      transferFloorNs(hardware));
}

/// Returns the time of an all-reduce over n ranks, as a ring or as a tree, whichever is shorter. A
/// ring takes 2(n − 1) steps of bytes ÷ n (the factor of nccl-tests' doc/PERFORMANCE.md). A binary
/// tree there and back takes 2⌈log₂ n⌉ steps of all bytes.
inline TransferTime allReduceTime(const Link& link, std::int64_t bytes, std::int32_t ranks) {
  if (ranks < 2) return {};
  const std::int64_t n = ranks, latency = latencyNs(link);
  const std::int64_t depth = std::bit_width(static_cast<std::uint32_t>(n - 1));
  const double moved = 2.0 * static_cast<double>(n - 1) / static_cast<double>(n);
  const double rate = link.gigabytes_per_second;
  const std::int64_t wire = rate == 0 ? 0 : std::llround(moved * static_cast<double>(bytes) / rate);
  const TransferTime ring{2 * (n - 1) * latency, wire};
  const TransferTime tree{2 * depth * latency, 2 * depth * wireNs(link, bytes)};
  return ring.totalNs() <= tree.totalNs() ? ring : tree;
}

/// Returns the time of a collective on the link of its group, from when its last member has posted
/// it. A single rank waits for nothing.
inline TransferTime collectiveTime(const Program::Collective& collective,
                                   const Hardware& hardware) {
  if (collective.ranks < 2) return {};
  const bool tp = collective.axis == GroupAxis::kTp && hardware.tp_link;
  return allReduceTime(tp ? *hardware.tp_link : hardware.link, collective.bytes, collective.ranks)
      .atLeast(transferFloorNs(hardware));
}

/// Returns the time that a device needs to start the kernels of an op.
inline std::int64_t kernelFloorNs(const Program::Op& op, const Hardware& hardware) {
  return std::llround(op.kernels * hardware.floors.kernel_us * 1000);
}

/// Returns the time of an op of Kind::kWork.
inline std::int64_t workNs(const Program::Op& op, const Hardware& hardware) {
  return std::max<std::int64_t>(
      std::llround(static_cast<double>(op.work_ns) / hardware.compute_scale),
      kernelFloorNs(op, hardware));
}

}  // namespace ringscope::traces
