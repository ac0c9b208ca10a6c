// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traces/analysis/clock/hardware.h"
#include "traces/analysis/clock/model_sizes.h"
#include "traces/analysis/clock/program.h"
#include "traces/analysis/clock/stage_cost.h"
#include "traces/format/schema/run_spec.h"
#include "traces/plan/kernel_work.h"

namespace ringscope::traces {

/// How quick a device really is. A stage takes its floating-point operations ÷ their rate, and the
/// traffic of what is no matrix product ÷ the memory's rate, added up.
struct DeviceSpeed {
  std::string name = "custom";
  double matmul_flops = 0;                   ///< a second, of projections, MLP and logits
  double attention_flops = 0;                ///< a second, forward
  double attention_backward_flops = 0;       ///< a second, backward
  double memory_bytes = 0;                   ///< a second
  std::optional<MeasuredDevice> measured{};  ///< in place of these rates (calibration.h)
};

/// A device at `efficiency` of its peak in the type of `run`; memory at the same share.
DeviceSpeed speedOf(const DeviceRates& device, const RunSpec& run, double efficiency);

/// What one stage of a rank does.
struct StageWork {
  double matmul_flops = 0, attention_flops = 0, attention_backward_flops = 0, memory_bytes = 0;
  /// What products read beside: weights, the rows of q and out that a piece of attention goes
  /// through.
  double operand_bytes = 0;
  double scores = 0;        ///< of attention, each with an exponential
  double masked_flops = 0;  ///< that kernels compute beside, on pairs that a mask then leaves out
  double calls = 1, tiles = 0;  ///< of kernels, see KernelWork
  double small_flops = 0;  ///< of those of attention and masked ones, see KernelWork::small_pairs
  double events = 1;       ///< in which a recording has it
  /// Of all bytes, those that others have pushed out of the caches since they were used.
  double far_share = 0;

  /// By the device's rates, of which calls, scores and what a mask leaves out are a share; `kind`
  /// in a direction by what it was seen to take, where it was measured. Throws usageError where
  /// that kind was not.
  double seconds(const DeviceSpeed& device, EventKind kind, Direction direction) const;
  /// The share of that time which memory traffic takes, by the device's rates; 0: there is none.
  double memoryShare(const DeviceSpeed& device) const;
  /// In the parts of which a measured time is made.
  StageSample parts() const;
};

/// What a rank does and sends in a training step, derived from the sizes.
///   projections, MLP, logits: 2 operations for each parameter and token, twice that in backward
///   attention: 4·head_dim for each pair and query head, 2.5 times that in backward, where scores
///   are computed again (FlashAttention-2, arXiv:2307.08691, section 4.1)
///   gradients travel in fp32, dK, dV and sums of the loss too; KV, heads and activations in the
///   type of the run
class PlannedSizes {
 public:
  PlannedSizes(const RunSpec& run, const ModelSizes& sizes);

  StageWork project(Direction direction) const;
  StageWork feedForward(Direction direction) const;
  StageWork embed(Direction direction) const;
  StageWork loss(Direction direction) const;
  /// `pairs` that it attends, and what kernels do for it.
  StageWork attend(Direction direction, std::int64_t pairs, const KernelWork& kernel) const;
  /// Of a block that was attended so.
  StageWork merge(const KernelWork& kernel) const;
  /// Of such a block whose result is taken as it is, in the type of sums: parts of one that were
  /// merged, or computed in float32, are in it already.
  StageWork takeOver(const KernelWork& kernel) const;
  /// Of so many blocks' dK and dV, into those that travel or have arrived.
  StageWork mergeGradients(std::int64_t blocks = 1) const;
  StageWork gradSync() const;
  StageWork clip() const;
  StageWork optimizer() const;

  std::int64_t kvBytes() const;
  std::int64_t dkvBytes() const;
  /// Of one message of Ulysses to each other rank.
  std::int64_t qkvHeadsBytes() const;
  std::int64_t outHeadsBytes() const;
  std::int64_t lseHeadsBytes() const;
  std::int64_t gradHeadsBytes() const;
  std::int64_t activationBytes() const;  ///< of one all-reduce under tensor parallelism
  std::int64_t tokenSumBytes() const;    ///< of one number for each token, as sums have
  std::int64_t gradientBytes() const;    ///< of the gradient sync
  std::int32_t ulysses() const { return ulysses_; }

 private:
  StageWork ofLayer() const;
  StageWork ofParameters(double passes) const;
  /// In a step, but for attention.
  double movedBytes() const;

  std::int64_t tokens_ = 0;  ///< of a rank, all its sequences together
  std::int64_t hidden_ = 0, inner_ = 0, vocab_ = 0, layers_ = 0, head_dim_ = 0;
  std::int64_t q_heads_ = 0, kv_heads_ = 0;            ///< of a tp rank
  std::int64_t q_heads_here_ = 0, kv_heads_here_ = 0;  ///< that a rank attends
  std::int64_t embeddings_ = 0;                        ///< parameters of a rank
  /// Of parameters: embedding, head and last norm, and nine in a layer of Llama.
  std::int64_t tensors_ = 0;
  std::int32_t ulysses_ = 1;
  std::int64_t sequences_ = 1;
  double element_ = 4, sum_ = 4;  ///< bytes
  bool fp8_ = false, recompute_ = false;
};

/// One training step of `run` with a model of these sizes, planned without a recording: causal,
/// full or window masks, every strategy, rotation, order and balance that run_rules.h allows. The
/// ranks of one cp group take part; those of other dp and tp ranks do the same at the same time,
/// and count in collectives. Throws usageError for a run that cannot be, and for documents, which
/// only a recording knows.
Program plannedProgram(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device);

/// A stage of such a step.
struct PlannedStage {
  EventKind kind = EventKind::kAttend;
  Direction direction = Direction::kForward;
  StageWork work;
};
/// Such a step whatever the device.
struct PlannedWork {
  Program schedule;                               ///< in which work takes no time
  std::vector<std::vector<PlannedStage>> stages;  ///< by rank, in its order
};
/// By the engine's own kernels for the device of `run`. Throws as above.
PlannedWork plannedWork(const RunSpec& run, const ModelSizes& sizes);

}  // namespace ringscope::traces
