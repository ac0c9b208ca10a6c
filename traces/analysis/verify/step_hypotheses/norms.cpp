// SPDX-License-Identifier: Apache-2.0
// Mistakes in which gradients the norm is taken over.
#include "traces/analysis/verify/step_hypotheses/norms.h"

#include <cmath>

#include "traces/analysis/mistakes/catalogue/hypothesis_functions.h"
#include "traces/analysis/verify/step_hypotheses/step_hypothesis.h"

namespace ringscope::traces {

std::vector<CountedNorm> normsOfReplicas(const RunSpec& run, const GradientNorms& norms) {
  constexpr double kSame = 1e-5;
  const bool tp_alike = norms.held > norms.once * (1 + kSame);
  const auto times = [](double norm, std::int32_t ranks) {
    return norm * std::sqrt(static_cast<double>(ranks));
  };
  std::vector<CountedNorm> all;
  if (tp_alike) all.push_back({norms.held, "what tp ranks hold alike once for each of them"});
  for (const std::int32_t ranks : {run.cp, run.dp, run.dp * run.cp})
    if (ranks > 1)
      all.push_back({times(norms.once, ranks),
                     "the same gradients of each of " + std::to_string(ranks) + " ranks"});
  if (tp_alike && run.dp * run.cp > 1)
    all.push_back({times(norms.held, run.dp * run.cp), "all that any of the ranks holds"});
  return all;
}

std::vector<StepValues> normOfReplicas(const StepSetting& setting) {
  if (!setting.norms) return {};
  std::vector<StepValues> ways;
  for (const CountedNorm& counted : normsOfReplicas(setting.run, *setting.norms))
    ways.push_back({.how = "counting " + counted.what, .grad_norm = roundedNorm(counted.norm)});
  return ways;
}

}  // namespace ringscope::traces
