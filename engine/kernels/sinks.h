// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/kernels/attention_op.h"

namespace ringscope::engine {

/// Attention sinks: one learnt logit a query head that takes its share of every row's softmax and
/// has no value (Xiao et al. 2023, arXiv:2309.17453; as gpt-oss has them). Since only lse and a
/// row's scale change, they are applied once, after the last merge:
///   lse' = log(exp(lse) + exp(sink)), out' = out · exp(lse − lse'),
/// and backward of q, k and v needs no other formula when it is given out' and lse'.
/// sinks: [Hq], or undefined: none. `result` is in the type in which it was merged. A row without a
/// key keeps out 0 and gets lse' = sink.
void applySinks(AttentionResult& result, const at::Tensor& sinks);

/// d sinks: [Hq] in fp64, of the rows in `result` only: −Σ exp(sink − lse) · (dout · out).
at::Tensor sinkGradient(const at::Tensor& sinks, const at::Tensor& dout,
                        const AttentionResult& result);

/// [Hq] in fp64: the sizes of what sinkGradient adds up, in fp64.
at::Tensor sinkGradientSize(const at::Tensor& sinks, const at::Tensor& dout,
                            const AttentionResult& result);

/// [Hq] in fp64: the standard deviation that rounding every element of out by up to `roundoff` of
/// itself gives to sinkGradient. A gradient is one number of few, whose error on one device may be
/// small by luck.
at::Tensor sinkGradientRounding(const at::Tensor& sinks, const at::Tensor& dout,
                                const AttentionResult& result, double roundoff);

}  // namespace ringscope::engine
