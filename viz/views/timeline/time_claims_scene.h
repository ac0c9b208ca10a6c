// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "viz/views/timeline/step_account_scene.h"

namespace ringscope::viz {

/// What a moment of a rank counts for, first to last, where several are recorded at once.
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

/// kCount: none, as of messages, which are under way beside the rank's own time.
Claim claimOf(const traces::Event& event);

/// Nothing: it is left out.
std::optional<TimeUse> useOf(Claim claim);

/// Goes along a rank's step from border to border, and says who claims what lies between.
class ClaimSweep {
 public:
  /// `claim(event)`; kCount: the event claims nothing.
  using ClaimOf = Claim (*)(const traces::Event& event);
  explicit ClaimSweep(const std::vector<traces::Event>& events, ClaimOf claim = claimOf);

  /// `take(begin, end, claim)`; kCount: nobody does.
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

}  // namespace ringscope::viz
