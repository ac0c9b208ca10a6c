// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "traces/format/schema/event.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

/// What is put together to be sent, each in its own way: heads by Ulysses; KV, dK and dV by
/// all_gather; the same by ring strategies, with either rotation.
enum class Packing : std::uint8_t { kHeads, kGathered, kRing };
inline constexpr std::size_t kPackings = 3;
/// Of a message of a run.
Packing packingOf(Payload payload, const RunSpec& run);

/// What a rank did in a training step beside its stages and while no message moved, and how long
/// that took.
struct BetweenSample {
  double events = 0;                       ///< of stages
  double bytes = 0;                        ///< of memory that these moved
  double exchanges = 0;                    ///< that it waited for
  std::array<double, kPackings> packed{};  ///< bytes that it sent, by Packing
  double seconds = 0;
};

/// What that takes on a device, in seconds. None is below 0.
struct BetweenCost {
  double per_step = 0, per_event = 0, per_byte = 0, per_exchange = 0;
  std::array<double, kPackings> per_packed_byte{};

  double ofPacking(Packing packing) const {
    return per_packed_byte[static_cast<std::size_t>(packing)];
  }
};

/// As fitCosts(), see fit_costs.h. A packing that no sample has takes as long as the slowest that
/// was seen. Packing is counted by the bytes that are sent: for more ranks than were recorded,
/// which send what they packed once to several, it comes out too long.
BetweenCost fitBetweenCost(const std::vector<BetweenSample>& samples);

}  // namespace ringscope::traces
