// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/proof.h"

#include <algorithm>

#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/analysis/verify/hypotheses/hypothesis.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/analysis/verify/step_check.h"
#include "traces/analysis/verify/step_hypotheses/step_hypothesis.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// Multiply-adds: about a second of one core.
constexpr double kProofWork = 5e8;

/// Returns the ranks that share the sequence with the finding's rank, or the first group.
std::vector<WorldRank> findMembers(const Trace& trace, const Finding& finding) {
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

std::string proofFor(const HypothesesCheck& tried, const std::string& mistake) {
  const auto own = std::ranges::find(tried.checks, mistake, &HypothesisCheck::mistake);
  if (own == tried.checks.end() || !own->reproduces()) return "";
  return "Computed again in fp64, the layer is what this mistake gives, within " +
         describeRatio(own->ratio()) + " what rounding explains; what was meant is off by " +
         describeRatio(tried.meant_ratio) + " (" + sampleWords(tried.sample, own->sample) + ").";
}

/// Returns the proof by one number of a training step.
std::string proofFor(const ScalarCheck& check, const std::string& mistake) {
  const auto own = std::ranges::find(check.hypotheses, mistake, &NumberHypothesis::mistake);
  if (own == check.hypotheses.end() || !own->reproduces()) return "";
  const auto number = [](double value) { return describeSignificant(value, 7); };
  return "Computed again in fp64, the logged " + check.what +
         " is what this mistake gives, within " + describeRatio(own->ratio) +
         " what rounding explains; what was meant is off by " + describeRatio(*check.ratio()) +
         " (logged " + number(*check.logged) + ", as it should be " + number(*check.exact) +
         ", with this mistake " + number(own->gives.value) +
         (own->how.empty() ? "" : ", " + own->how) + ").";
}

/// Returns the proof by the gradient of the output projection.
std::string proofFor(const GradientCheck& check, const std::string& mistake) {
  const auto own = std::ranges::find(check.hypotheses, mistake, &NumberHypothesis::mistake);
  if (own == check.hypotheses.end() || !own->reproduces()) return "";
  const auto percent = [](double share) { return describeSignificant(100 * share, 2) + " %"; };
  return "Computed again in fp64, the gradient of " + check.parameter +
         " is what this mistake gives, within " + describeRatio(own->ratio) +
         " what rounding explains; what was meant is off by " + describeRatio(*check.ratio()) +
         " (" + percent(check.off) + " of its size, with this mistake " +
         percent(own->gives.value) + (own->how.empty() ? "" : ", " + own->how) + ").";
}

/// Returns the proof by the labels.
std::string proofFor(const LabelCheck& check, const std::string& mistake) {
  const bool is_own = std::ranges::any_of(check.hypotheses, [&](const auto& tried) {
    return tried.mistake == mistake && tried.reproduces();
  });
  if (!is_own) return "";
  return "Made again from the recorded tokens, all of " + describeCount(check.counts.labels) +
         " labels are what this mistake gives, and " + describeCount(check.counts.wrong) + " of " +
         describeCount(check.counts.targets) + " are not the next token of the sequence.";
}

/// Reports whether one of these hypotheses computes the mistake.
template <typename Hypotheses>
bool isComputed(const std::string& mistake, const Hypotheses& all) {
  return std::ranges::any_of(all, [&](const auto& one) { return one.mistake == mistake; });
}

/// Returns the proof by the first number of a training step that this mistake explains.
std::string proofOfStep(const Trace& trace, std::int32_t train_step, const std::string& mistake) {
  if (!isComputed(mistake, stepHypotheses())) return "";
  const StepCheck step = checkStep(trace, train_step);
  for (const std::string& proof :
       {proofFor(step.labels, mistake), proofFor(step.loss, mistake),
        proofFor(step.gradient, mistake), proofFor(step.grad_norm, mistake)})
    if (!proof.empty()) return proof;
  return "";
}

/// Returns how many mistakes an unknown mistake is not, and how near the nearest is.
std::string exclusions(const HypothesesCheck& tried) {
  const auto& checks = tried.checks;
  if (checks.empty() || checks.front().reproduces()) return "";
  return (checks.size() == 1 ? "The one mistake that could be computed does not give this layer; "
                             : "None of " + describeCount(std::ssize(checks), "mistake") +
                                   " that could be computed gives this layer; the nearest, ") +
         checks.front().mistake + ", is off by " + describeRatio(checks.front().ratio()) +
         " what rounding explains.";
}

}  // namespace

std::string proofFor(const Trace& trace, const Finding& finding) {
  const bool unknown = finding.rule == kUnknownMistake;
  if (!unknown && !isComputed(finding.rule, hypotheses()) &&
      !isComputed(finding.rule, stepHypotheses()))
    return "";
  try {
    if (finding.place.layer.isNone())
      return unknown ? "" : proofOfStep(trace, finding.place.train_step, finding.rule);
    const LayerPass pass{finding.place.train_step, finding.place.layer, 0};
    const LayerCheck check = checkLayer(trace, pass, findMembers(trace, finding), kProofWork);
    return unknown ? exclusions(check.hypotheses) : proofFor(check.hypotheses, finding.rule);
  } catch (const Error&) {
    return "";  // values are damaged, which the trace's problems say
  }
}

}  // namespace ringscope::traces
