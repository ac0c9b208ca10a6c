// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "traces/format/schema/score_rule.h"

namespace ringscope::engine {

/// Returns the scores of products q·k, of any shape and in their type.
at::Tensor scoresFrom(const at::Tensor& products, const traces::ScoreRule& rule);

/// Returns the gradients of scale·q·k from those of scores. A score of -inf is that of a masked
/// pair, whose gradient is 0.
at::Tensor beforeSoftcap(const at::Tensor& gradients, const at::Tensor& scores,
                         const traces::ScoreRule& rule);

}  // namespace ringscope::engine
