// SPDX-License-Identifier: Apache-2.0
// The logged gradient norm against that of the recorded gradients, each counted once, and against
// the norms that count what several ranks hold as often as it is held.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/step_tensors.h"
#include "traces/analysis/verify/step_hypotheses/norms.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// A logged number may have lost digits, but not that many.
constexpr double kTolerance = 1e-5;

struct NormReading {
  std::int32_t train_step = 0;
  double logged = 0, exact = 0;
  std::optional<CountedNorm> as;  ///< none: neither right nor one of these
  bool by_verdict = false;
  bool right = false;
};

bool isNear(double a, double b) {
  return std::abs(a - b) <= kTolerance * std::abs(b);
}

void compare(NormReading& reading, const RunSpec& run, const GradientNorms& norms) {
  for (const CountedNorm& wrong : normsOfReplicas(run, norms))
    if (isNear(reading.logged, wrong.norm) &&
        std::abs(wrong.norm - reading.exact) > 10 * kTolerance * reading.exact) {
      reading.as = wrong;
      return;
    }
}

/// Of one training step; nothing where its gradients' values or the logged norm are missing.
std::optional<NormReading> byValues(const Trace& trace, std::int32_t train_step) {
  const ScalarCheck check = checkGradientNorm(trace, train_step);
  const auto ratio = check.ratio();
  if (!ratio || !std::isfinite(*check.logged) || !std::isfinite(*check.exact) ||
      !(*check.exact > 0))
    return std::nullopt;
  NormReading reading{train_step, *check.logged, *check.exact, {}, false, *ratio <= 1};
  if (reading.right) return reading;
  compare(reading, *trace.run(), gradientNorms(trace, train_step));
  return reading;
}

/// The same by the recorded verdict on the norm by which gradients were clipped.
NormReading byVerdict(const Trace& trace, const DiffRecord& diff) {
  NormReading reading{diff.place.train_step, diff.scale + diff.error, diff.scale, {}, true,
                      diff.ratio <= 1};
  if (!reading.right && diff.scale > 0 && std::isfinite(diff.error) && trace.run()->tp == 1)
    compare(reading, *trace.run(), {diff.scale, diff.scale});
  return reading;
}

std::vector<NormReading> readingsOf(const Trace& trace) {
  std::vector<NormReading> all;
  std::set<std::int32_t> steps;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor.kind == TensorKind::kGradient && tensor.has_values)
      steps.insert(tensor.place.train_step);
  for (const std::int32_t train_step : steps)
    if (const auto reading = byValues(trace, train_step)) all.push_back(*reading);
  if (!all.empty()) return all;
  for (const DiffRecord& diff : trace.diffs())
    if (diff.isolated && diff.tensor == "clip_norm") all.push_back(byVerdict(trace, diff));
  return all;
}

Finding finding(const NormReading& reading) {
  Finding f;
  f.rule = "norm_counts_replicas";
  f.severity = "error";
  f.confidence = reading.by_verdict ? "likely" : "certain";
  f.title = "The gradient norm counts what several ranks hold more than once";
  f.place = afterLayers(reading.train_step);
  f.buffer = "grad_norm";
  f.evidence = std::string("The norm by which gradients are clipped is ") +
               describeSignificant(reading.logged, 6) + "; the gradients after the sync have " +
               describeSignificant(reading.exact, 6) + ", and " +
               describeSignificant(reading.as->norm, 6) + " comes of counting " + reading.as->what +
               ".";
  f.remedy =
      "After the sync dp×cp ranks hold the same gradients: sum squares over tp alone, and count a "
      "parameter that tp ranks hold alike (norms) on one of them.";
  return f;
}

}  // namespace

RuleResult checkNormCountsReplicas(const Trace& trace) {
  const RunSpec* run = trace.run();
  if (!run) return notObservable("needs the sizes of the mesh, all gradients and their norm");
  if (run->dp == 1 && run->tp == 1 && run->cp == 1) return clear();
  const auto readings = readingsOf(trace);
  const auto wrong = std::ranges::find_if(readings, [](const auto& r) { return r.as.has_value(); });
  if (wrong != readings.end()) return found(finding(*wrong));
  const auto other = std::ranges::find(readings, false, &NormReading::right);
  if (other != readings.end())
    return undecided("needs a logged norm that some way of counting gives; that of step " +
                     std::to_string(other->train_step) + " is " +
                     describeSignificant(other->logged, 6) + ", where the gradients have " +
                     describeSignificant(other->exact, 6));
  if (!readings.empty()) return clear();
  return notObservable("needs the values of all gradients after the sync, and the logged norm");
}

}  // namespace ringscope::traces
