// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/kernels/attention_op.h"

namespace ringscope::engine {

/// Applies attention sinks to a merged result. A sink is one learnt logit per query head that takes
/// part in every row's softmax and has no value (Xiao et al. 2023, arXiv:2309.17453; used by
/// gpt-oss). A sink changes only lse and the scale of a row, so it is applied once, after the last
/// merge:
///   `lse' = log(exp(lse) + exp(sink)), out' = out · exp(lse − lse')`.
/// Backward of q, k and v needs no other formula if it is given out' and lse'. The shape of sinks
/// is [Hq]; undefined: no sinks. The type of `result` is the one in which it was merged. A row
/// without a key keeps out 0 and gets lse' = sink.
void applySinks(AttentionResult& result, const at::Tensor& sinks);

/// Returns the gradient of the sinks, [Hq] in fp64, for the rows in `result`: −Σ exp(sink − lse) ·
/// (dout · out).
at::Tensor sinkGradient(const at::Tensor& sinks, const at::Tensor& dout,
                        const AttentionResult& result);

/// Returns, [Hq] in fp64, the sum of the magnitudes that sinkGradient() adds up.
at::Tensor sinkGradientSize(const at::Tensor& sinks, const at::Tensor& dout,
                            const AttentionResult& result);

/// Returns, [Hq] in fp64, the standard deviation of sinkGradient() if every element of out is
/// rounded by up to `roundoff` of itself. The error of one device is no measure, because the
/// gradient has few numbers, whose errors may be small by chance.
at::Tensor sinkGradientRounding(const at::Tensor& sinks, const at::Tensor& dout,
                                const AttentionResult& result, double roundoff);

}  // namespace ringscope::engine
