// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/stage_kernels.h"

namespace ringscope::traces {
namespace {

// Forward. Norm, three projections, rotary of q and k.
constexpr double kProject = 6;
// Output projection, residual with norm, gate, up, SiLU with product, down, residual.
constexpr double kFeedForward = 7;
// Norm, logits, cross entropy.
constexpr double kLoss = 3;

// Backward. Each product has two: of the input's gradient and of the weight's.
constexpr double kProjectBackward = 3 * 2 + 3, kFeedForwardBackward = 4 * 2 + 3,
                 kLossBackward = 2 + 2;
// FlashAttention-2 starts three: of dout · out, of dq with dk and dv, and to convert dq
// (csrc/flash_attn/src/flash_bwd_launch_template.h of Dao-AILab/flash-attention).
constexpr double kAttendBackward = 3;

}  // namespace

double stageKernels(EventKind kind, Direction direction, bool recompute) {
  const bool forward = direction == Direction::kForward;
  switch (kind) {
    case EventKind::kAttend:
      return forward ? 1 : kAttendBackward;
    case EventKind::kMerge:
      return forward ? 1 : 2;  // out with lse; dk and dv
    case EventKind::kProject:
      return forward ? kProject : kProjectBackward;
    case EventKind::kFeedForward:
      return forward ? kFeedForward
                     : kFeedForwardBackward + (recompute ? kProject + kFeedForward : 0);
    case EventKind::kLoss:
      return forward ? kLoss : kLossBackward;
    case EventKind::kGradSync:  // gradients into one buffer and out of it
    case EventKind::kClip:      // norm, scale
      return 2;
    default:
      return isDeviceWork(kind) ? 1 : 0;
  }
}

}  // namespace ringscope::traces
