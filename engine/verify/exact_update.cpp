// SPDX-License-Identifier: Apache-2.0
//
// u is the unit roundoff of the type in which AdamW computes. A clipped gradient g is off by 2u|g|,
// the factor's rounding and the product's. The first moment m is a mean of two terms and off by
// 4u(|m_before| + |g|); the second, v, by 8u(v_before + g²), and by what underflows. The step
// lr·m̂/(√v̂ + eps) is off by what m and v are off by and by a few units of its own, the weight by
// that and by 4u of itself. A weight that is rounded to a narrower type is off by half a unit of
// that too.
#include "engine/verify/exact_update.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/verify/error_measure.h"
#include "traces/diff/summary.h"

namespace ringscope::engine {

using traces::DiffRecord;

namespace {

struct Bounded {
  at::Tensor value, limit;  ///< fp64
};

/// One parameter after the update, in fp64.
struct ExactParameter {
  Bounded weight, first, second;
};

at::Tensor wide(const at::Tensor& t) {
  return t.detach().to(at::kDouble);
}

ExactParameter exactUpdate(const at::Tensor& weight, const at::Tensor& first,
                           const at::Tensor& second, const at::Tensor& clipped, double u,
                           const ParameterUpdate& update) {
  constexpr double kTiny = std::numeric_limits<float>::min();
  const UpdateRule& rule = update.rule;
  const auto steps = static_cast<double>(update.steps);
  const at::Tensor squares = at::square(clipped);
  ExactParameter exact;
  exact.first = {rule.beta1 * first + (1 - rule.beta1) * clipped,
                 4 * u * (first.abs() + clipped.abs()) + kTiny};
  exact.second = {rule.beta2 * second + (1 - rule.beta2) * squares,
                  8 * u * (second + squares) + kTiny};
  const double left1 = 1 - std::pow(rule.beta1, steps), left2 = 1 - std::pow(rule.beta2, steps);
  const at::Tensor root = at::sqrt(exact.second.value / left2), divisor = root + rule.eps,
                   root_error = exact.second.limit / left2 / (2 * root).clamp_min(kTiny),
                   step = rule.lr * exact.first.value / left1 / divisor;
  exact.weight.value = weight * (1 - rule.lr * rule.weight_decay) - step;
  // The root's error is never larger than the root of what v is off by.
  const at::Tensor of_root = at::minimum(root_error, at::sqrt(exact.second.limit / left2));
  exact.weight.limit = 4 * u * (weight.abs() + exact.weight.value.abs()) +
                       rule.lr * exact.first.limit / left1 / divisor +
                       step.abs() * (of_root / divisor + 8 * u);
  return exact;
}

/// The worst of a parameter's weight and moments.
DiffRecord compareParameter(const std::string& name, const ParameterUpdate& update,
                            double clipped_by) {
  const auto& before = update.before;
  const auto& after = update.after;
  const bool narrow = before.contains("master." + name);
  const std::string kept = (narrow ? "master." : "weight.") + name;
  const auto type = before.at(kept).scalar_type();
  const ExactParameter exact = exactUpdate(
      wide(before.at(kept)), wide(before.at("first." + name)), wide(before.at("second." + name)),
      wide(update.gradients.at(name)) * clipped_by, unitRoundoff(type), update);
  DiffRecord worst;
  const auto keep = [&](const std::string& key, const Bounded& of, double rounded) {
    DiffRecord diff;
    measureElements(diff, after.at(key), of.value, of.limit + rounded * of.value.abs());
    if (worst.rows.codes.empty() || traces::isWorse(diff, worst)) worst = std::move(diff);
  };
  keep(kept, exact.weight, 0);
  keep("first." + name, exact.first, 0);
  keep("second." + name, exact.second, 0);
  if (narrow)
    keep("weight." + name, exact.weight,
         2 * unitRoundoff(after.at("weight." + name).scalar_type()));
  worst.tensor = "update." + name;
  return worst;
}

}  // namespace

std::vector<DiffRecord> compareUpdate(std::int32_t train_step, const ParameterUpdate& update) {
  double squares = 0;
  for (const auto& [name, gradient] : update.gradients)
    squares += at::square(wide(gradient)).sum().item<double>();
  const double norm = std::sqrt(squares);
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
