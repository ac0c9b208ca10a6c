// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>

#include "traces/analysis/compare/go_on.h"
#include "traces/format/schema/place.h"

namespace ringscope::traces {
class Trace;

/// A cost or a result of a training step over all ranks together. The forward or backward of a
/// layer has only the last four.
enum class Cost : std::uint8_t {
  kLoss = 0,     ///< as logged
  kGradNorm,     ///< before clipping
  kPairs,        ///< pairsPerHead() of the busiest rank in forward, as planned
  kBalance,      ///< mean ÷ largest of all ranks' pairs, 0 to 1
  kPeak,         ///< peak memory in bytes since the run began (LoggedStep::peak_bytes)
  kSeconds,      ///< wall time in seconds without verification
  kSent,         ///< bytes of messages between ranks
  kCollectives,  ///< bytes of collectives, summed over members
  kAttend,       ///< ns of attention, as thread CPU time or device time, independent of how cores
                 ///< are shared
  kWait,         ///< ns of waiting for messages
  kCount
};
template <>
struct EnumNames<Cost> {
  static constexpr const char* kWhat = "cost";
  static constexpr std::array<const char*, 10> kNames = {
      "loss",    "grad_norm",  "busiest_pairs_per_head", "balance",   "peak_bytes",
      "seconds", "sent_bytes", "collective_bytes",       "attend_ns", "wait_ns"};
};
/// Returns a title: "loss", "pairs per head, busiest rank", "attention, own time".
const char* title(Cost cost);
/// Formats a value in a suitable unit: "96 KiB", "1.2 ms".
std::string describe(Cost cost, double value);

/// The costs of one place. A cost is nullopt when the recording does not contain it.
class Costs {
 public:
  std::optional<double>& operator[](Cost cost) { return of_[static_cast<std::size_t>(cost)]; }
  const std::optional<double>& operator[](Cost cost) const {
    return of_[static_cast<std::size_t>(cost)];
  }

 private:
  std::array<std::optional<double>, kValueCount<Cost>> of_;
};

struct PlaceBefore {
  bool operator()(const Place& a, const Place& b) const { return before(a, b); }
};
/// Costs by training step (no layer, forward) and by layer and direction; places have no ring step.
using CostsByPlace = std::map<Place, Costs, PlaceBefore>;

/// Returns the costs of every training step that logged something or has events. Reads all events
/// once. Returns early, with an incomplete result, when `go_on` returns false.
CostsByPlace costsByPlace(const Trace& trace, const GoOn& go_on = {});

}  // namespace ringscope::traces
