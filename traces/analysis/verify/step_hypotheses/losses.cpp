// SPDX-License-Identifier: Apache-2.0
// Mistakes in how the losses of several ranks become one.
#include "traces/analysis/verify/step_hypotheses/losses.h"

#include <algorithm>

#include "traces/analysis/mistakes/catalogue/hypothesis_functions.h"
#include "traces/analysis/verify/step_hypotheses/step_hypothesis.h"

namespace ringscope::traces {

Rounded meanOfRank(const RankLoss& rank) {
  return meanOverTargets({rank});
}

Rounded meanOfMeans(const std::vector<RankLoss>& ranks, bool counted) {
  Rounded sum;
  double count = 0;
  for (const RankLoss& rank : ranks) {
    if (rank.own.targets == 0 && !counted) continue;
    ++count;
    if (rank.own.targets == 0) continue;
    const Rounded own = meanOfRank(rank);
    sum.value += own.value;
    sum.limit += own.limit;
  }
  return sum.times(1 / count);
}

namespace {

/// Each part is divided by its rank's targets and by `ranks`, not by all targets.
PartWeights partsOfMeans(const HeadParts& head, double ranks) {
  return [&head, ranks](std::size_t, std::size_t, std::size_t part) {
    const auto own = static_cast<double>(head.owners[part].targets);
    return own > 0 ? head.targets() / (own * ranks) : 0;
  };
}

}  // namespace

std::vector<StepValues> meanOfMeans(const StepSetting& setting) {
  const std::vector<RankLoss>& all = setting.losses;
  if (all.empty()) return {};
  const auto with_targets =
      std::ranges::count_if(all, [](const RankLoss& rank) { return rank.own.targets > 0; });
  std::vector<StepValues> ways;
  for (const bool counted : {true, false}) {
    if (!counted && with_targets == std::ssize(all)) continue;
    StepValues way{.loss = meanOfMeans(all, counted)};
    if (!counted) way.how = "of the ranks that have targets";
    if (setting.head)
      way.gradient = partsOfMeans(*setting.head,
                                  static_cast<double>(counted ? std::ssize(all) : with_targets));
    ways.push_back(std::move(way));
  }
  return ways;
}

std::vector<StepValues> lossTimesCp(const StepSetting& setting) {
  if (setting.losses.empty()) return {};
  const Rounded right = meanOverTargets(setting.losses);
  std::vector<StepValues> ways = gradientsTimesCp(setting);
  ways.front().loss = right.times(setting.run.cp);
  ways.back().loss = right.times(1.0 / setting.run.cp);
  return ways;
}

std::vector<StepValues> lossOfRank(const StepSetting& setting) {
  std::vector<StepValues> ways;
  if (setting.losses.size() > 1)
    for (const RankLoss& rank : setting.losses)
      ways.push_back({.how = "of rank " + toString(rank.rank), .loss = meanOfRank(rank)});
  return ways;
}

std::vector<StepValues> meanOfNoTarget(const StepSetting& setting) {
  std::vector<StepValues> ways;
  for (const RankLoss& rank : setting.losses)
    if (rank.own.targets == 0)
      ways.push_back({.how = "of rank " + toString(rank.rank), .loss = meanOfRank(rank)});
  return ways;
}

}  // namespace ringscope::traces
