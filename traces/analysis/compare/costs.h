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

/// What a training step gave and took, all ranks together; of a layer's forward or backward the
/// last four alone.
enum class Cost : std::uint8_t {
  kLoss = 0,     ///< as logged
  kGradNorm,     ///< before clipping
  kPairs,        ///< pairsPerHead() of the busiest rank in forward, as planned
  kBalance,      ///< mean over largest of all ranks' pairs, 0 to 1
  kPeak,         ///< bytes, peak memory since the run began (LoggedStep::peak_bytes)
  kSeconds,      ///< wall time, verification left out
  kSent,         ///< bytes of messages from rank to rank
  kCollectives,  ///< bytes of collectives, each member's
  kAttend,       ///< ns of attention, whoever shares the cores: thread CPU time, or a device's
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
/// "loss", "pairs per head, busiest rank", "attention, own time".
const char* title(Cost cost);
/// In the unit that one would say: "96 KiB", "1.2 ms".
std::string describe(Cost cost, double value);

/// Of what is nullopt nothing was recorded.
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
/// By training step (no layer, forward) and by direction of a layer; no ring step.
using CostsByPlace = std::map<Place, Costs, PlaceBefore>;

/// Of every training step that logged something or has events. Goes once through all events; ends
/// early, with less, when `go_on` says so.
CostsByPlace costsOf(const Trace& trace, const GoOn& go_on = {});

}  // namespace ringscope::traces
