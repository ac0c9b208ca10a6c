// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/curves/curves_scene.h"

#include <algorithm>
#include <map>

#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/step_log.h"
#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

using traces::DiffRecord;
using traces::LoggedStep;
using Value = std::optional<double>;

/// Says what verification found in a training step.
struct Verified {
  Value worst;  ///< error ÷ limit over all that was compared
  Value loss, grad_norm;
};

std::map<std::int32_t, Verified> verifiedSteps(const traces::Trace& trace) {
  std::map<std::int32_t, Verified> steps;
  for (const DiffRecord& diff : trace.diffs()) {
    Verified& step = steps[diff.place.train_step];
    if (!step.worst || !(diff.ratio <= *step.worst)) step.worst = diff.ratio;
    if (diff.isolated) continue;
    if (diff.tensor == "loss") step.loss = diff.scale;
    if (diff.tensor == "grad_norm") step.grad_norm = diff.scale;
  }
  return steps;
}

/// Tokens of one training step; nullopt: the run's configuration was not recorded.
Value tokensIn(const traces::Trace& trace) {
  if (!trace.run()) return std::nullopt;
  return static_cast<double>(trace.run()->seq_len) * static_cast<double>(trace.run()->batch);
}

class Maker {
 public:
  explicit Maker(const traces::Trace& trace)
      : logged_(traces::loggedSteps(trace)),
        verified_(verifiedSteps(trace)),
        tokens_(tokensIn(trace)) {
    for (const auto& [step, of] : logged_) scene.steps.push_back(step);
    for (const auto& [step, of] : verified_) scene.steps.push_back(step);
    std::ranges::sort(scene.steps);
    scene.steps.erase(std::unique(scene.steps.begin(), scene.steps.end()), scene.steps.end());
  }

  /// False: no step has it.
  bool add(const char* name, Curve::Says says, Value LoggedStep::*logged,
           Value Verified::*reference = nullptr) {
    Curve curve{name, says, valuesOf(logged_, logged), {}};
    if (reference) curve.reference = valuesOf(verified_, reference);
    if (std::ranges::none_of(curve.reference, has)) curve.reference.clear();
    return take(std::move(curve));
  }
  void addWorst() {
    take(
        {"worst error ÷ limit", Curve::Says::kMultiple, valuesOf(verified_, &Verified::worst), {}});
  }
  void addRate() {
    Curve curve{"tokens a second", Curve::Says::kRate, valuesOf(logged_, &LoggedStep::seconds), {}};
    for (Value& value : curve.values)
      value = value && *value > 0 && tokens_ ? Value(*tokens_ / *value) : std::nullopt;
    take(std::move(curve));
  }

  CurvesScene scene;

 private:
  static bool has(const Value& value) { return value.has_value(); }

  template <typename Step>
  std::vector<Value> valuesOf(const std::map<std::int32_t, Step>& steps, Value Step::*field) const {
    std::vector<Value> values;
    values.reserve(scene.steps.size());
    for (const std::int32_t step : scene.steps) {
      const auto at = steps.find(step);
      values.push_back(at == steps.end() ? std::nullopt : at->second.*field);
    }
    return values;
  }
  bool take(Curve curve) {
    const bool any = std::ranges::any_of(curve.values, has);
    if (any) scene.curves.push_back(std::move(curve));
    return any;
  }

  std::map<std::int32_t, LoggedStep> logged_;
  std::map<std::int32_t, Verified> verified_;
  Value tokens_;
};

std::size_t placeFor(const CurvesScene& scene, std::int32_t train_step) {
  const auto at = std::ranges::lower_bound(scene.steps, train_step);
  const bool known = at != scene.steps.end() && *at == train_step;
  return known ? static_cast<std::size_t>(at - scene.steps.begin()) : scene.steps.size();
}

}  // namespace

CurvesScene makeCurvesScene(const traces::Trace& trace) {
  Maker maker(trace);
  maker.add("loss", Curve::Says::kNumber, &LoggedStep::loss, &Verified::loss);
  maker.add("gradient norm", Curve::Says::kNumber, &LoggedStep::grad_norm, &Verified::grad_norm);
  maker.addWorst();
  maker.addRate();
  if (!maker.add("peak memory", Curve::Says::kBytes, &LoggedStep::peak_bytes))
    maker.add("peak memory with verification", Curve::Says::kBytes,
              &LoggedStep::peak_bytes_with_verification);
  if (maker.scene.curves.empty())
    maker.scene.note = "No training step has logged its loss, and none was verified.";
  else if (trace.diffs().empty())
    maker.scene.missing =
        "Not compared with unsharded attention; " + traces::verdictAdvice(trace, "is") + ".";
  return std::move(maker.scene);
}

std::string describeStep(const CurvesScene& scene, std::int32_t train_step) {
  const std::size_t at = placeFor(scene, train_step);
  std::string words = "step " + std::to_string(train_step);
  if (at == scene.steps.size()) return words + ": nothing is logged";
  const char* between = ": ";
  for (const Curve& curve : scene.curves) {
    if (!curve.values[at]) continue;
    words += between + curve.name + " " + describe(curve, *curve.values[at]);
    if (!curve.reference.empty() && curve.reference[at])
      words += ", unsharded " + describe(curve, *curve.reference[at]);
    between = " · ";
  }
  return words;
}

}  // namespace ringscope::viz
