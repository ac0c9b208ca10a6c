// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "traces/format/schema/event.h"

namespace ringscope::traces {

/// The class that an event counts as where many events share one pixel or one sum.
enum class Shade : std::uint8_t {
  kAttend = 0,
  kMerge,
  kCompute,  ///< shards, embedding, projections, feed forward
  kLoss,
  kSync,  ///< gradient sync, clip, optimizer
  kVerify,
  kWait,
  kPause,
  kMessage,  ///< messages and collectives
  kCount
};
inline constexpr std::size_t kShades = static_cast<std::size_t>(Shade::kCount);
Shade eventShade(const Event& event);

/// The lanes of one rank, from the top.
enum class LaneKind : std::uint8_t {
  kCompute = 0,  ///< its own thread: work, waits, pauses
  kKv,           ///< KV on its way out
  kDkv,          ///< dK and dV on their way out
  kCollective,   ///< collectives, and messages with any other payload
  kCount
};
inline constexpr std::size_t kLaneKinds = static_cast<std::size_t>(LaneKind::kCount);
LaneKind eventLane(const Event& event);
/// Returns "compute", "KV out", "dKV out" or "collectives".
const char* title(LaneKind lane);

}  // namespace ringscope::traces
