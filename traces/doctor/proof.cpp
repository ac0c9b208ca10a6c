// SPDX-License-Identifier: Apache-2.0
#include "traces/doctor/proof.h"

#include <algorithm>

#include "traces/core/error.h"
#include "traces/core/prose.h"
#include "traces/doctor/unknown_mistake.h"
#include "traces/mistakes/catalogue.h"
#include "traces/query/sequence_groups.h"
#include "traces/verify/layer_check.h"

namespace ringscope::traces {
namespace {

/// Multiply-adds: about a second of one core.
constexpr double kWork = 5e8;

/// Those that share the sequence with the finding's rank, or the first that do.
std::vector<WorldRank> membersOf(const Trace& trace, const Finding& finding) {
  const auto groups = sequenceGroups(trace);
  for (const auto& members : groups)
    if (std::ranges::find(members, finding.rank) != members.end()) return members;
  return groups.empty() ? std::vector<WorldRank>() : groups.front();
}

/// "out at token 24, head 3, batch entry 0, element 5: recorded 4.4, as it should be 0.89, with
/// this mistake 4.4".
std::string sampleWords(const RecordedSample& sample, double with_mistake) {
  const auto number = [](double value) { return describeSignificant(value, 5); };
  return std::string(name(sample.kind)) + " at token " + toString(sample.row.token) + ", head " +
         std::to_string(sample.row.head) + ", batch entry " + std::to_string(sample.row.batch) +
         ", element " + std::to_string(sample.element) + ": recorded " + number(sample.recorded) +
         ", as it should be " + number(sample.meant) + ", with this mistake " +
         number(with_mistake);
}

std::string proofOf(const HypothesesCheck& tried, const std::string& mistake) {
  const auto own = std::ranges::find(tried.checks, mistake, &HypothesisCheck::mistake);
  if (own == tried.checks.end() || !own->reproduces()) return "";
  return "Computed again in fp64, the layer is what this mistake gives, within " +
         describeRatio(own->ratio()) + " what rounding explains; what was meant is off by " +
         describeRatio(tried.meant_ratio) + " (" + sampleWords(tried.sample, own->sample) + ").";
}

/// Of an unknown mistake: which ones it is not.
std::string exclusions(const HypothesesCheck& tried) {
  if (tried.checks.empty() || tried.checks.front().reproduces()) return "";
  const HypothesisCheck& nearest = tried.checks.front();
  return "None of " + describeCount(std::ssize(tried.checks), "mistake") +
         " that could be computed gives this layer: the nearest, " + nearest.mistake +
         ", is off by " + describeRatio(nearest.ratio()) + " what rounding explains.";
}

}  // namespace

std::string proofOf(const Trace& trace, const Finding& finding) {
  const Mistake* mistake = findMistake(finding.rule);
  const bool unknown = finding.rule == kUnknownMistake;
  if (finding.place.layer.isNone() || (!unknown && (!mistake || mistake->hypotheses.empty())))
    return "";
  try {
    const LayerPass pass{finding.place.train_step, finding.place.layer, 0};
    const LayerCheck check = checkLayer(trace, pass, membersOf(trace, finding), kWork);
    return unknown ? exclusions(check.hypotheses) : proofOf(check.hypotheses, finding.rule);
  } catch (const Error&) {
    return "";  // values are damaged, which the trace's problems say
  }
}

}  // namespace ringscope::traces
