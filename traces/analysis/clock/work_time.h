// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "traces/analysis/clock/link_time.h"
#include "traces/analysis/clock/program.h"

namespace ringscope::traces {

inline std::int64_t floorNs(double floor_us) {
  return std::llround(floor_us * 1000);
}

/// The time that starting the kernels of an op takes.
inline std::int64_t kernelFloorNs(const Program::Op& op, const Hardware& hardware) {
  return std::llround(op.kernels * hardware.floors.kernel_us * 1000);
}

/// The time that an op of Kind::kWork takes.
inline std::int64_t workNs(const Program::Op& op, const Hardware& hardware) {
  return std::max(std::llround(static_cast<double>(op.work_ns) / hardware.compute_scale),
                  static_cast<long long>(kernelFloorNs(op, hardware)));
}

/// A transfer that is shorter than the floor takes the floor, which bandwidth does not change.
inline TransferTime atLeast(const TransferTime& time, std::int64_t floor_ns) {
  return time.totalNs() < floor_ns ? TransferTime{floor_ns, 0} : time;
}

/// A collective on the link of its group, from when its last member has posted it. One rank alone
/// has nothing to wait for.
inline TransferTime collectiveTime(const Program::Collective& collective,
                                   const Hardware& hardware) {
  if (collective.ranks < 2) return {};
  const bool tp = collective.axis == GroupAxis::kTp && hardware.tp_link;
  return atLeast(
      allReduceTime(tp ? *hardware.tp_link : hardware.link, collective.bytes, collective.ranks),
      floorNs(hardware.floors.collective_us));
}

}  // namespace ringscope::traces
