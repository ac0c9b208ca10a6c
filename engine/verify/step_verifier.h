// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/data/batch_layout.h"
#include "engine/kernels/layer_masks.h"
#include "engine/model/llama_model.h"
#include "engine/plan.h"
#include "engine/verify/rounding_variance.h"
#include "engine/verify/unsharded_step.h"
#include "traces/format/schema/records.h"

namespace ringscope::engine {

/// The tensors of one rank for the comparison of one training step.
struct RankStep {
  std::vector<LayerAttention> layers;
  at::Tensor logits;    ///< [B, S_local, vocab]
  at::Tensor cos, sin;  ///< [B, 1, S_local, D]
  /// After the sync, before clipping; of each dp rank.
  std::vector<std::map<std::string, at::Tensor>> gradients;
  /// Before the sync; of each dp rank. Empty: unknown.
  std::vector<std::map<std::string, at::Tensor>> own_gradients;
};

/// The two diffs of a training step, each row of each tensor against its limit.
/// Isolated: the layer's own q, k, v, dout and sinks, joined from all ranks, through unsharded
/// attention in fp64: tells where an error is born. FP8 is compared on the values that its products
/// had. End to end: the whole step from the same weights without sharding, in fp64.
class StepVerifier {
 public:
  /// `layout` is the layout of all sequences; with kPerDocument, of a sequence that is one
  /// document. `masks` are those of sequences that are one document. With `fp8`, the run and the
  /// one device round q, k and v to e4m3. The weights are split over `tp` ranks. Attention of the
  /// run and of the one device is computed on `where`. Groups of `ulysses` neighbouring ranks share
  /// heads, and merge nothing among themselves.
  StepVerifier(const LlamaConfig& config, const ShardLayout& layout, LayerMasks masks,
               at::ScalarType type, bool fp8 = false, int tp = 1,
               traces::Device where = traces::Device::kCpu, int ulysses = 1)
      : config_(config),
        layout_(layout),
        masks_(std::move(masks)),
        type_(type),
        fp8_(fp8),
        tp_(tp),
        where_(where),
        ulysses_(ulysses) {}

  /// Takes the error maps of errorMaps(), named "error.abs.dk" and so on.
  using MapSink = std::function<void(const std::string& name, const traces::Place& place,
                                     const at::Tensor& map)>;

  struct Isolated {
    std::vector<traces::DiffRecord> diffs;
    std::vector<AttentionVariance> variances;  ///< of each layer
  };
  Isolated isolated(std::int32_t train_step, const std::vector<RankStep>& ranks, const Batch& batch,
                    const MapSink& maps) const;

  struct Unsharded {
    UnshardedStep exact;   ///< in fp64, but with the run's rotary angles
    UnshardedStep device;  ///< by one device in the run's type
    /// The gradients of both steps with the results of the run's attention in place. The rounding
    /// of that attention, above all in FP8, then does not hide mistakes around it. Empty in fp64:
    /// the device computes the same as the exact step, so nothing tells how far a run may be.
    std::map<std::string, at::Tensor> exact_around, device_around;
    int tp = 1;  ///< of the run
  };
  /// `weights` are those at the beginning of the step; `of_run`: the results of its attention.
  Unsharded unsharded(const LlamaWeights& weights, const Batch& batch,
                      const std::vector<LayerAttention>& of_run) const;
  /// Attention of each layer, the ranks' shards joined in global order.
  std::vector<LayerAttention> gatherAttention(const std::vector<RankStep>& ranks,
                                              const Batch& batch) const;

  /// `loss` and `norm` are those that the run logged; `variances` are those of isolated().
  std::vector<traces::DiffRecord> endToEnd(std::int32_t train_step,
                                           const std::vector<RankStep>& ranks, double loss,
                                           double norm, const Batch& batch,
                                           const Unsharded& unsharded,
                                           const std::vector<AttentionVariance>& variances) const;

 private:
  std::unique_ptr<AttentionOp> reference(const Batch& batch) const;
  std::unique_ptr<AttentionOp> device(const Batch& batch, bool fp8) const;
  /// The same that merges as many blocks as the run does.
  std::unique_ptr<AttentionOp> mergingDevice(const Batch& batch) const;
  /// Returns the layout of the ring of one sequence. Ranks that share heads count as one rank.
  ShardLayout ring(const Batch& batch, std::int64_t sequence) const;
  /// Returns the blocks of all sequences, or of each if their documents differ.
  std::vector<MergedBlocks> blocks(const Batch& batch, const Mask& mask) const;
  AttentionVariance variance(const LayerAttention& exact, const Batch& batch, const Mask& mask,
                             const std::vector<MergedBlocks>& blocks) const;
  /// The diff of the sinks' gradient in a layer, of the results that its backward used.
  static traces::DiffRecord sinkDiff(const traces::Place& place, const std::vector<RankStep>& ranks,
                                     const LayerAttention& used);
  static LayerAttention joined(const std::vector<RankStep>& ranks, Layer layer,
                               const BatchLayout& layout);

  LlamaConfig config_;
  ShardLayout layout_;
  LayerMasks masks_;
  at::ScalarType type_;
  bool fp8_;
  int tp_;
  traces::Device where_;
  int ulysses_;
};

}  // namespace ringscope::engine
