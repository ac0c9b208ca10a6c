// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/account/time_claims.h"

#include <algorithm>

#include "traces/analysis/account/lanes.h"

namespace ringscope::traces {

Claim eventClaim(const Event& event) {
  switch (eventShade(event)) {
    case Shade::kPause:
      return Claim::kPause;
    case Shade::kWait:
      return Claim::kWait;
    case Shade::kAttend:
    case Shade::kMerge:
      return Claim::kAttention;
    case Shade::kSync:
      return Claim::kSync;
    case Shade::kVerify:
      return Claim::kVerify;
    case Shade::kMessage:
      return event.kind == EventKind::kCollective ? Claim::kBlocked : Claim::kCount;
    default:
      return Claim::kCompute;
  }
}

std::optional<TimeUse> claimedUse(Claim claim) {
  switch (claim) {
    case Claim::kPause:
      return std::nullopt;
    case Claim::kWait:
    case Claim::kBlocked:
      return TimeUse::kExposed;
    case Claim::kAttention:
      return TimeUse::kAttention;
    case Claim::kCompute:
      return TimeUse::kCompute;
    case Claim::kSync:
      return TimeUse::kSync;
    case Claim::kVerify:
      return TimeUse::kVerify;
    default:
      return TimeUse::kBetween;
  }
}

ClaimSweep::ClaimSweep(const std::vector<Event>& events, ClaimRule claim_of) {
  for (const Event& event : events) {
    const Claim claim = claim_of(event);
    if (claim == Claim::kCount || event.end_ns <= event.begin_ns) continue;
    edges_.push_back({event.begin_ns, claim, 1});
    edges_.push_back({event.end_ns, claim, -1});
  }
  std::ranges::sort(edges_, {}, &Edge::ns);
}

}  // namespace ringscope::traces
