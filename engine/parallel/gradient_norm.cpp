// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel/gradient_norm.h"

#include <ATen/ATen.h>

#include <cmath>

namespace ringscope::engine {

namespace {

double sumOfSquares(const Gradients& gradients, const CountsInNorm& counts_here) {
  double squares = 0;
  for (const auto& [name, grad] : gradients) {
    if (!counts_here(name)) continue;
    const at::Tensor values = grad.to(at::kDouble).view(-1);
    squares += values.dot(values).item<double>();
  }
  return squares;
}

}  // namespace

double localNorm(const Gradients& gradients, const CountsInNorm& counts_here) {
  return std::sqrt(sumOfSquares(gradients, counts_here));
}

double globalNorm(const Gradients& gradients, const CountsInNorm& counts_here, Communicator& tp) {
  at::Tensor total = at::tensor({sumOfSquares(gradients, counts_here)}, at::kDouble);
  if (tp.size() > 1) tp.allReduceSum(total, traces::Payload::kScalars);
  return std::sqrt(total.item<double>());
}

void clipGradients(Gradients& gradients, double norm, double max_norm) {
  const double coefficient = max_norm / (norm + 1e-6);
  if (coefficient >= 1.0) return;
  for (auto& [name, grad] : gradients) grad.mul_(coefficient);
}

}  // namespace ringscope::engine
