// SPDX-License-Identifier: Apache-2.0
// The gradients after the sync as a sum of the ranks' own: did each rank make its part smaller
// before, by a factor of its own?
#include "traces/core/prose.h"
#include "traces/doctor/gradient_scale.h"

namespace ringscope::traces {
namespace {

void finish(const GradientScale& g, Finding& f) {
  constexpr std::size_t kShown = 4;
  const auto& ranks = g.head.ranks;
  std::string factors;
  for (std::size_t i = 0; i < ranks.size() && i < kShown; ++i)
    factors += (i ? ", rank " : "rank ") + toString(ranks[i].rank) + " by " +
               describeSignificant(ranks[i].factor, 3);
  f.confidence = "likely";
  f.title = "Ranks clip their own gradients before the sum";
  f.evidence =
      "The gradient of " + g.head.parameter +
      " after the sync is a sum in which each rank's own part was made smaller: " + factors +
      (ranks.size() > kShown ? " and so on" : "") + ", which leaves " +
      describeSignificant(100 * g.head.off_by_rank, 2) +
      " % of it. From the sum of what the recorded logits and labels give it is off by " +
      describeSignificant(100 * g.head.off, 2) + " %.";
  f.remedy =
      "Sum the gradients over dp×cp first, then take their norm and scale all of them by one "
      "coefficient, the same on every rank.";
}

}  // namespace

RuleResult checkClipBeforeReduce(const Trace& trace) {
  return answerOf(readGradientScale(trace), GradientsAre::kScaledByRank, "clip_before_reduce",
                  finish);
}

}  // namespace ringscope::traces
