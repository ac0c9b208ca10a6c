// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

#include "engine/transport/communicator.h"

namespace ringscope::engine {

/// Gradients by parameter, in fp32 (fp64 for fp64 weights), as the optimizer uses them.
using Gradients = std::map<std::string, at::Tensor>;

/// A function that reports whether this rank's part of a parameter's gradient counts in the global
/// norm.
using CountsInNorm = std::function<bool(const std::string& parameter)>;

/// Returns the 2-norm of the gradients of a model whose parameters are split over the ranks of
/// `tp`.
double globalNorm(const Gradients& gradients, const CountsInNorm& counts_here, Communicator& tp);

/// Scales all gradients by min(1, max_norm / (norm + 1e-6)), like torch.nn.utils.clip_grad_norm_.
void clipGradients(Gradients& gradients, double norm, double max_norm);

/// Returns the factor by which `clip` multiplies the gradients, measured on the smallest tensor of
/// them. Returns 1 if that tensor is 0.
double computeClipCoefficient(Gradients& gradients, const std::function<void(Gradients&)>& clip);

}  // namespace ringscope::engine
