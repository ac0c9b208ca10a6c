// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ringscope::traces {

class Readings;  // traces/analysis/doctor/readings.h
class Trace;
struct RuleResult;         // traces/analysis/doctor/rule.h
struct HypothesisSetting;  // traces/analysis/verify/hypotheses/hypothesis.h
struct BlockedAttention;
struct StepSetting;  // traces/analysis/verify/step_hypotheses/step_hypothesis.h
struct StepValues;

/// The runs that a rule can judge. A recording of one attention has no tokens, labels, loss, q or
/// k. A forgotten mask shows only in a run that declared one.
enum class RuleOf : std::uint8_t { kAnyRun, kTraining, kDeclaredMask };

/// A function that computes what a recording would contain with the mistake. Hypotheses are tried
/// in ascending order, and those that are equally far off are listed in it.
struct AttentionHypothesis {
  int order;
  /// Returns one attention per form of the mistake.
  std::vector<BlockedAttention> (*make)(const HypothesisSetting& setting);
  bool undescribed = false;  ///< only for attention that nothing describes but its results
};
struct NumbersHypothesis {
  int order;
  std::vector<StepValues> (*make)(const StepSetting& setting);
};

/// The function of a rule: of the trace, or of the readings that rules share.
struct RuleFunction {
  RuleFunction(RuleResult (*judge)(const Trace& trace)) : by_trace(judge) {}  // NOLINT: a row
  RuleFunction(RuleResult (*judge)(const Readings& readings))
      : by_readings(judge) {}  // NOLINT: names it

  RuleResult (*by_trace)(const Trace& trace) = nullptr;
  RuleResult (*by_readings)(const Readings& readings) = nullptr;
};

/// The code that detects one mistake of the catalogue.
struct Detection {
  std::string mistake;  ///< an id of the catalogue
  RuleFunction rule;
  RuleOf of = RuleOf::kAnyRun;
  std::vector<AttentionHypothesis> attention{};  ///< attention with the mistake, if it is computed
  std::vector<NumbersHypothesis> numbers{};      ///< labels, loss, gradients and norm with it
};

/// Returns the detections of all mistakes, in the order of the data's way through a training step.
/// A new mistake with a rule is one row, and the declarations of its functions.
const std::vector<Detection>& detections();

}  // namespace ringscope::traces
