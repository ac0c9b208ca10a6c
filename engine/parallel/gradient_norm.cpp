// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel/gradient_norm.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace ringscope::engine {

double globalNorm(const Gradients& gradients, const CountsInNorm& counts_here, Communicator& tp) {
  double squares = 0;
  for (const auto& [name, grad] : gradients) {
    if (!counts_here(name)) continue;
    const at::Tensor values = grad.to(at::kDouble).view(-1);
    squares += values.dot(values).item<double>();
  }
  at::Tensor total = at::tensor({squares}, at::kDouble);
  if (tp.size() > 1) tp.allReduceSum(total, traces::Payload::kScalars);
  return std::sqrt(total.item<double>());
}

void clipGradients(Gradients& gradients, double norm, double max_norm) {
  const double coefficient = max_norm / (norm + 1e-6);
  if (coefficient >= 1.0) return;
  for (auto& [name, grad] : gradients) grad.mul_(coefficient);
}

double computeClipCoefficient(Gradients& gradients, const std::function<void(Gradients&)>& clip) {
  const auto smallest = std::ranges::min_element(
      gradients, {}, [](const auto& gradient) { return gradient.second.numel(); });
  const auto norm = [&] {
    return smallest == gradients.end() ? 0 : smallest->second.to(at::kDouble).norm().item<double>();
  };
  const double before = norm();
  clip(gradients);
  return before == 0 ? 1 : norm() / before;
}

}  // namespace ringscope::engine
