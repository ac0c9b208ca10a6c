// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "traces/analysis/account/step_account.h"

namespace ringscope::traces {

/// The uses that a moment of a rank can count for. The first one counts where several events
/// overlap.
enum class Claim : std::uint8_t {
  kPause,
  kWait,
  kAttention,
  kCompute,
  kSync,
  kVerify,
  kBlocked,
  kCount
};
inline constexpr std::size_t kClaims = static_cast<std::size_t>(Claim::kCount);

/// Returns the claim of an event. Messages have none (kCount): they travel beside the rank's own
/// time.
Claim eventClaim(const Event& event);

/// Returns the use that a claim counts for; nullopt when the account leaves it out.
std::optional<TimeUse> claimedUse(Claim claim);

/// A walk along the step of one rank that finds the claim between each two borders of events.
class ClaimSweep {
 public:
  /// Returns the claim of an event; kCount when the event claims nothing.
  using ClaimRule = Claim (*)(const Event& event);
  explicit ClaimSweep(const std::vector<Event>& events, ClaimRule claim = eventClaim);

  /// Calls `take(begin, end, claim)` for each stretch; `claim` is kCount where no event claims it.
  template <typename Take>
  void run(Take take) const {
    std::array<int, kClaims> open{};
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      open[static_cast<std::size_t>(edges_[i].claim)] += edges_[i].change;
      if (i + 1 == edges_.size() || edges_[i + 1].ns == edges_[i].ns) continue;
      std::size_t first = 0;
      while (first < kClaims && open[first] <= 0) ++first;
      take(edges_[i].ns, edges_[i + 1].ns, static_cast<Claim>(first));
    }
  }

 private:
  struct Edge {
    std::int64_t ns;
    Claim claim;
    int change;
  };
  std::vector<Edge> edges_;
};

}  // namespace ringscope::traces
