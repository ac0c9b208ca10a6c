// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "traces/format/schema/records.h"

namespace ringscope::engine {

/// AdamW's settings and the norm at which gradients are clipped.
struct UpdateRule {
  double lr, weight_decay, beta1, beta2, eps, max_norm;
};

/// Clip and update of one training step, of whole parameters.
struct ParameterUpdate {
  /// "weight.NAME", "first.NAME", "second.NAME" (AdamW's moments), and "master.NAME" where weights
  /// are kept in a narrower type.
  std::map<std::string, at::Tensor> before, after;
  std::map<std::string, at::Tensor> gradients;  ///< by parameter, before clipping
  double norm = 0;                              ///< that the run clipped by
  std::int64_t steps = 0;                       ///< updates so far, this one included
  UpdateRule rule{};
};

/// Compares an update with the same in fp64 from the run's own gradients and state: "clip_norm",
/// the norm that it clipped by, and "update.NAME", the worst of a parameter's weight and moments.
/// Isolated: what was wrong in a gradient before does not count here. The update is that of
/// Loshchilov and Hutter 2019 (torch.optim.AdamW), the clip that of
/// torch.nn.utils.clip_grad_norm_. Nothing where a gradient is not finite: no update of it is right
/// or wrong. How limits follow is in the source.
std::vector<traces::DiffRecord> compareUpdate(std::int32_t train_step,
                                              const ParameterUpdate& update);

}  // namespace ringscope::engine
