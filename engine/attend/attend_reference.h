// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attend/attend.h"
#include "engine/verify/rounding_variance.h"

namespace ringscope::engine {

/// What one attention is compared with: the same in fp64, by one device, and how large rounding
/// errors are to be expected in each row.
struct AttendReference {
  /// With `fp8`, of q, k and v as e4m3 holds them. `stored_out`: the out that backward began with;
  /// undefined: that of each. `where`: on which one device. `blocks`: what was merged; nullopt: one
  /// block.
  AttendReference(const AttendInput& in, bool fp8, const at::Tensor& stored_out = {},
                  traces::Device where = traces::Device::kCpu,
                  const std::optional<MergedBlocks>& blocks = {});

  LayerAttention exact, one_device;
  AttentionVariance variance;
};

/// One result of an attention.
struct AttendResult {
  const char* name;
  at::Tensor LayerAttention::*values;
  RowVariance AttentionVariance::*variance;
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
