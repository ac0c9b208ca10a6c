// SPDX-License-Identifier: Apache-2.0
//
// u is the unit roundoff of the type in which AdamW computes. A clipped gradient g is off by 2u|g|,
// the factor's rounding and the product's. The first moment m is a mean of two terms and off by
// 4u(|m_before| + |g|); the second, v, by 8u(v_before + g²), and by what underflows. The step
// lr·m̂/(√v̂ + eps) is off by the errors of m and v and by a few units of its own. The weight is off
// by the error of the step and by 4u of itself. Kernels for GPUs compute 1 − βⁿ in u, of which few
// digits are left where n is small: with β and the power rounded it is off by u(2 + (n + 2)βⁿ). A
// weight that is rounded to a narrower type is off by half a unit of that too.
#include "engine/verify/exact_update.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/tensors/wide.h"
#include "engine/verify/error_measure.h"
#include "traces/analysis/diff/summary.h"

namespace ringscope::engine {

using traces::DiffRecord;

namespace {

/// An element after the update, and by how much each part may be off.
struct ExactElement {
  double weight, first, second;
  double weight_limit, first_limit, second_limit;
};

/// The update of one element, with what is the same for all.
class ElementUpdate {
 public:
  ElementUpdate(const ParameterUpdate& update, double roundoff)
      : rule_(update.rule),
        u_(roundoff),
        whole1_(1 / (1 - std::pow(update.rule.beta1, static_cast<double>(update.steps)))),
        whole2_(1 / (1 - std::pow(update.rule.beta2, static_cast<double>(update.steps)))),
        wholes_(offOf(whole1_, update.steps) + offOf(whole2_, update.steps) / 2) {}

  ExactElement operator()(double weight, double first, double second, double clipped) const {
    constexpr double kTiny = std::numeric_limits<float>::min();
    const double square = clipped * clipped;
    ExactElement exact{};
    exact.first = rule_.beta1 * first + (1 - rule_.beta1) * clipped;
    exact.first_limit = 4 * u_ * (std::abs(first) + std::abs(clipped)) + kTiny;
    exact.second = rule_.beta2 * second + (1 - rule_.beta2) * square;
    exact.second_limit = 8 * u_ * (second + square) + kTiny;
    const double root = std::sqrt(exact.second * whole2_), part = 1 / (root + rule_.eps),
                 step = rule_.lr * exact.first * whole1_ * part;
    // The root's error is never larger than the root of what v is off by.
    const double off = exact.second_limit * whole2_,
                 of_root = off < 4 * root * root ? off / (2 * root) : std::sqrt(off);
    exact.weight = weight * (1 - rule_.lr * rule_.weight_decay) - step;
    exact.weight_limit = 4 * u_ * (std::abs(weight) + std::abs(exact.weight)) +
                         rule_.lr * exact.first_limit * whole1_ * part +
                         std::abs(step) * (of_root * part + 8 * u_ + wholes_);
    return exact;
  }

 private:
  /// By how much of itself a factor 1/(1 − βⁿ) may be off.
  double offOf(double whole, std::int64_t steps) const {
    return u_ * (2 + (static_cast<double>(steps) + 2) * (1 - 1 / whole)) * whole;
  }

  UpdateRule rule_;
  double u_, whole1_, whole2_;  ///< factors that undo the moments' start at 0
  double wholes_;               ///< by how much of itself the step may be off because of them
};

/// The worst of a parameter's weight and moments.
DiffRecord compareParameter(const std::string& name, const ParameterUpdate& update, double clip) {
  const auto& before = update.before;
  const auto& after = update.after;
  const bool narrow = before.contains("master." + name);
  const std::string kept = (narrow ? "master." : "weight.") + name, of_first = "first." + name,
                    of_second = "second." + name, rounded = "weight." + name;
  const at::Tensor& whole = before.at(kept);
  const double unit = narrow ? 2 * unitRoundoff(after.at(rounded).scalar_type()) : 0;
  const ElementUpdate element(update, unitRoundoff(whole.scalar_type()));
  const Wide weight(whole), first(before.at(of_first)), second(before.at(of_second)),
      gradient(update.gradients.at(name)), new_weight(after.at(kept)),
      new_first(after.at(of_first)), new_second(after.at(of_second)),
      new_rounded(after.at(rounded));
  std::vector<RatioMeasure> parts;
  parts.reserve(4);
  for (int part = 0; part < (narrow ? 4 : 3); ++part)
    parts.push_back(RatioMeasure::ofElements(whole.sizes()));
  for (std::int64_t i = 0; i < whole.numel(); ++i) {
    const ExactElement e = element(weight[i], first[i], second[i], gradient[i] * clip);
    parts[0].addElement(new_weight[i], e.weight, e.weight_limit);
    parts[1].addElement(new_first[i], e.first, e.first_limit);
    parts[2].addElement(new_second[i], e.second, e.second_limit);
    if (narrow)
      parts[3].addElement(new_rounded[i], e.weight, e.weight_limit + unit * std::abs(e.weight));
  }
  DiffRecord worst;
  for (const RatioMeasure& part : parts) {
    DiffRecord diff;
    part.write(diff);
    if (worst.rows.codes.empty() || traces::isWorse(diff, worst)) worst = std::move(diff);
  }
  worst.tensor = "update." + name;
  return worst;
}

}  // namespace

std::vector<DiffRecord> compareUpdate(std::int32_t train_step, const ParameterUpdate& update) {
  double squares = 0;
  for (const auto& [name, gradient] : update.gradients)
    squares += at::square(gradient.to(at::kDouble)).sum().item<double>();
  const double norm = std::sqrt(squares);
  if (!std::isfinite(norm)) return {};
  std::vector<DiffRecord> diffs;
  DiffRecord of_norm;
  of_norm.tensor = "clip_norm";
  measureNumber(of_norm, update.norm, norm, 4 * unitRoundoff(at::kFloat) * norm);
  diffs.push_back(std::move(of_norm));
  const double clipped_by = std::min(1.0, update.rule.max_norm / (norm + 1e-6));
  for (const auto& [name, gradient] : update.gradients)
    diffs.push_back(compareParameter(name, update, clipped_by));
  for (DiffRecord& diff : diffs)
    diff.place = {train_step, traces::Layer::none(), traces::Direction::kBackward, {}};
  return diffs;
}

}  // namespace ringscope::engine
