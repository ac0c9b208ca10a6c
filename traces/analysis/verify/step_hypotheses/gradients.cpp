// SPDX-License-Identifier: Apache-2.0
// Mistakes in how the gradients of several ranks become one.
#include <algorithm>
#include <map>

#include "traces/analysis/mistakes/catalogue/hypothesis_functions.h"
#include "traces/analysis/verify/recompute/head_gradient.h"
#include "traces/analysis/verify/step_hypotheses/step_hypothesis.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// "rank 0 by 0.31, rank 1 by 0.5"
std::string factorWords(const std::vector<RankFactor>& ranks) {
  constexpr std::size_t kShown = 4;
  std::string words;
  for (std::size_t i = 0; i < std::min(kShown, ranks.size()); ++i)
    words += (i ? ", rank " : "rank ") + toString(ranks[i].rank) + " by " +
             describeSignificant(ranks[i].factor, 3);
  return words + (ranks.size() > kShown ? " and so on" : "");
}

}  // namespace

std::vector<StepValues> gradientsTimesCp(const StepSetting& setting) {
  const double cp = setting.run.cp;
  const auto all = [](double factor) -> PartWeights {
    return [factor](std::size_t, std::size_t, std::size_t) { return factor; };
  };
  return {{.how = "times cp", .gradient = all(cp)},
          {.how = "divided by cp", .gradient = all(1 / cp)}};
}

std::vector<StepValues> sumOverDp(const StepSetting& setting) {
  if (!setting.head) return {};
  const auto& owners = setting.head->owners;
  if (!std::ranges::all_of(owners, [](const auto& owner) { return owner.cp_rank.has_value(); }))
    return {{.gradient = PartWeights(), .lacks = "the cp groups of all ranks"}};
  return {{.gradient = [&owners](std::size_t, std::size_t owner, std::size_t part) {
    return owners[owner].cp_rank == owners[part].cp_rank ? 1.0 : 0.0;
  }}};
}

std::vector<StepValues> sumOfSmaller(const StepSetting& setting) {
  if (!setting.head || !setting.head->alike || setting.head->owners.size() < 2) return {};
  // By how much is the norm of each rank's own gradients, which are not recorded.
  const HeadGradient fit = fitHeadGradient(*setting.head);
  const auto without = [](const char* why) -> std::vector<StepValues> {
    return {{.gradient = PartWeights(),
             .lacks = std::string("the gradients before the sync, since ") + why}};
  };
  if (fit.ranks.empty())
    return without("the ranks' parts do not tell by which factor each was made smaller");
  if (fit.isOfFactors() && !fit.isMadeSmaller()) {
    const bool any_larger = std::ranges::any_of(
        fit.ranks, [&](const RankFactor& rank) { return rank.factor > 1 + fit.room(rank); });
    if (any_larger) return {};
    return without("the factors that fit may be one for all ranks, as those of any other scale");
  }
  std::map<WorldRank, double> factors;
  for (const RankFactor& rank : fit.ranks) factors[rank.rank] = std::clamp(rank.factor, 0.0, 1.0);
  const HeadParts& head = *setting.head;
  return {{.how = fit.isOfFactors() ? "by factors that fit: " + factorWords(fit.ranks)
                                    : "by the factors that come nearest",
           .gradient = [&head, factors](std::size_t slice, std::size_t, std::size_t part) {
             const auto found = factors.find(head.slices[slice].ranks[part]);
             return found == factors.end() ? 1.0 : found->second;
           }}};
}

}  // namespace ringscope::traces
