// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attend/attend.h"
#include "engine/verify/rounding_variance.h"

namespace ringscope::engine {

/// The references of one attention: its results in fp64, the results of one device, and the
/// variance of rounding errors per row.
struct AttendReference {
  /// Computes the references. With `fp8`, q, k and v are first rounded to e4m3. Backward uses
  /// `stored_out`; if it is undefined, each reference uses its own out. The one device is of type
  /// `where`. Rounding is estimated for the merged `blocks`; nullopt: one block.
  AttendReference(const AttendInput& in, bool fp8, const at::Tensor& stored_out = {},
                  traces::Device where = traces::Device::kCpu,
                  const std::optional<MergedBlocks>& blocks = {});

  LayerAttention exact, one_device;
  AttentionVariance variance;
};

/// One result of an attention, with the members that hold its values and its variance.
struct AttendResult {
  const char* name;
  at::Tensor LayerAttention::*values;
  TensorVariance AttentionVariance::*variance;
  traces::Direction direction;
};

inline constexpr AttendResult kAttendResults[] = {
    {"out", &LayerAttention::out, &AttentionVariance::out, traces::Direction::kForward},
    {"lse", &LayerAttention::lse, &AttentionVariance::lse, traces::Direction::kForward},
    {"dq", &LayerAttention::dq, &AttentionVariance::dq, traces::Direction::kBackward},
    {"dk", &LayerAttention::dk, &AttentionVariance::dk, traces::Direction::kBackward},
    {"dv", &LayerAttention::dv, &AttentionVariance::dv, traces::Direction::kBackward},
};

}  // namespace ringscope::engine
