// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/stage_work.h"

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

// Forward: norm, three projections, rotary embedding of q and k.
constexpr double kProject = 6;
// Output projection, residual with norm, gate, up, SiLU with product, down, residual.
constexpr double kFeedForward = 7;
// Norm, logits, cross entropy.
constexpr double kLoss = 3;

// Backward: each matrix product has two, for the gradients of its input and of its weight.
constexpr double kProjectBackward = 3 * 2 + 3, kFeedForwardBackward = 4 * 2 + 3,
                 kLossBackward = 2 + 2;
// FlashAttention-2 starts three: dout · out; dq, dk and dv; the conversion of dq
// (csrc/flash_attn/src/flash_bwd_launch_template.h of Dao-AILab/flash-attention).
constexpr double kAttendBackward = 3;

double secondsAt(double work, double rate) {
  return work > 0 ? work / rate : 0;
}

}  // namespace

StageWork& StageWork::operator+=(const StageWork& more) {
  flops += more.flops;
  memory_bytes += more.memory_bytes;
  stages += more.stages;
  return *this;
}

double StageCost::seconds(const StageWork& work) const {
  return fixed * work.stages + per_byte * work.memory_bytes +
         per_multiply_add * work.multiplyAdds();
}

double DeviceSpeed::flopsSeconds(const Stage& stage, const StageWork& work) const {
  const bool forward = stage.second == Direction::kForward;
  if (stage.first != EventKind::kAttend) return secondsAt(work.flops, matmul_flops);
  return secondsAt(work.flops, forward ? attention_flops : attention_backward_flops);
}

double DeviceSpeed::memorySeconds(const StageWork& work) const {
  return secondsAt(work.memory_bytes, memory_bytes);
}

double DeviceSpeed::seconds(const Stage& stage, const StageWork& work) const {
  if (measured.empty()) return flopsSeconds(stage, work) + memorySeconds(work);
  const auto cost = measured.find(stage);
  if (cost != measured.end()) return cost->second.seconds(work);
  throw usageError(std::string("no recording to calibrate by has a stage '") +
                   traces::name(stage.first) + "' in " + traces::name(stage.second) +
                   "; add one of a run that has");
}

double DeviceSpeed::memoryShare(const Stage& stage, const StageWork& work) const {
  const double memory = memorySeconds(work);
  return memory > 0 ? memory / (memory + flopsSeconds(stage, work)) : 0;
}

DeviceSpeed deviceSpeed(const DeviceRates& device, const RunSpec& run, double efficiency) {
  const bool narrow = run.dtype == DType::kBFloat16 || run.dtype == DType::kFloat16;
  const double flops = (narrow ? device.bf16_teraflops : device.fp32_teraflops) * 1e12 * efficiency;
  return {device.name, flops, flops, flops, device.memory_gigabytes_per_second * 1e9 * efficiency};
}

double attentionFlops(Direction direction, double pairs, std::int64_t head_dim) {
  return (direction == Direction::kForward ? 4 : 10) * static_cast<double>(head_dim) * pairs;
}

double stageKernels(EventKind kind, Direction direction, bool recompute) {
  const bool forward = direction == Direction::kForward;
  switch (kind) {
    case EventKind::kAttend:
      return forward ? 1 : kAttendBackward;
    case EventKind::kMerge:
      return forward ? 1 : 2;  // backward: dk, dv
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
