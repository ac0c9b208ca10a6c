// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/batch.h"
#include "engine/data/padding.h"
#include "engine/data/sharded_batch.h"
#include "engine/kernels/merge.h"
#include "engine/kernels/softmax.h"
#include "engine/mistakes/seam_place.h"
#include "engine/parallel/gradient_norm.h"
#include "engine/parallel/mesh_groups.h"
#include "engine/plan.h"
#include "engine/transport/group.h"
#include "engine/transport/rotation.h"
#include "traces/analysis/mistakes/needs/asked_mistake.h"
#include "traces/plan/run_rules.h"

namespace ringscope::engine {

// The places of the engine where a mistake can be made. A seam is either a rule, whose default is
// the correct code, or an adjustment of a value that the engine has just computed, whose default
// changes nothing. A mistake replaces or extends seams; the engine never asks whether one is
// injected. Seams are copied to every rank, so a seam that keeps state keeps it per rank.

/// A seam that may adjust its arguments.
template <typename... Given>
using Adjust = std::function<void(const SeamPlace& at, Given...)>;
inline constexpr auto kUnchanged = [](const auto&...) {};
/// Makes a seam do `change` after its present effect, so that several mistakes can be made there.
template <typename... Given, typename Change>
void extend(Adjust<Given...>& seam, Change change) {
  seam = [before = std::move(seam), change](const SeamPlace& at, Given... given) {
    before(at, given...);
    change(at, given...);
  };
}

/// Batches, by RankTrainer at the beginning of a training step.
struct DataSeams {
  /// The sequences on which this rank's cp group works.
  std::function<Batch(const SeamPlace& at, const BatchSource& source)> batch = ofDpRank;

  /// Each dp rank has its equal part of the batch, in order.
  static Batch ofDpRank(const SeamPlace& at, const BatchSource& source);
};

/// The buffers that every rank cuts along the sequence. `layout`, `padding` and `joined` are
/// reached once per run, outside of any rank.
struct BufferSeams {
  /// Which tokens each cp rank owns.
  std::function<ShardLayout(std::int64_t length, int cp_size, Balance balance,
                            const std::vector<TokenRun>& documents)>
      layout = [](std::int64_t length, int cp_size, Balance balance,
                  const std::vector<TokenRun>& documents) {
        return ShardLayout(length, cp_size, balance, documents);
      };
  /// By attend: how the sequence is made longer, and the mask over it.
  std::function<void(Padding& padding)> padding = kUnchanged;
  /// The buffers that are cut, each with its dimension and layout: input_ids, labels and
  /// position_ids by RankTrainer, q, k, v and dout by attend. A buffer that is taken off the list
  /// stays whole, except position_ids, which the model then makes by itself.
  Adjust<std::vector<BufferCut>&> cuts = kUnchanged;
  /// Cuts one of them.
  std::function<at::Tensor(const SeamPlace& at, const BufferCut& cut, const at::Tensor& whole)>
      cut = [](const SeamPlace& at, const BufferCut& how, const at::Tensor& whole) {
        return cutBuffer(how, whole, at.cpRank());
      };
  /// By RankTrainer: this rank's tokens, labels and position ids as the model gets them.
  Adjust<Batch&> sharded = kUnchanged;
  /// By attend: the shards of all ranks, in rank order, back in global order.
  std::function<at::Tensor(const std::vector<at::Tensor>& shards, std::int64_t seq_dim,
                           const ShardLayout& layout)>
      joined = unshard;
};

/// The requested attention; `layout` is that of the ranks of its group.
struct AttentionPlan {
  const ShardLayout& layout;
  const Mask& mask;
};

/// The inputs of the backward pass of one block. The kernels make
/// delta = rowsum(dout ∘ result.out) themselves.
struct BackwardInputs {
  at::Tensor dout, q, k, v;
  AttentionResult result;  ///< merged over all blocks
  const std::vector<Piece>& pieces;
  ScoreRule rule;
};

/// One layer's attention.
struct AttentionSeams {
  /// When a strategy is made and its schedules are recorded: whose tokens are attended together. By
  /// a layout of one rank each attends by itself what it has.
  Adjust<ShardLayout&> layout = kUnchanged;
  /// Changes the schedule of ring and all_gather, once per layer and direction. at.place has no
  /// ring step. The schedule has the block of each ring step, its attended pieces, and the
  /// neighbours. Its ranks are ranks of the group.
  Adjust<const AttentionPlan&, RingSchedule&> schedule = kUnchanged;
  /// By ulysses and hybrid, forward and backward: the heads of each rank.
  Adjust<HeadSplit&> heads = kUnchanged;
  /// The random state of dropout of one layer, with each block, forward and backward.
  Adjust<Dropout&> dropout = kUnchanged;
  /// The scale and the softcap of the scores of one layer, with each block, forward and backward.
  /// The number is the width of a head.
  Adjust<std::int64_t, ScoreRule&> scores = kUnchanged;
  /// The result of one piece, before it is recorded and merged.
  Adjust<const Piece&, AttentionResult&> block = kUnchanged;
  /// Merges it into rows [q_begin, q_begin + block rows). Not reached by a block that covers all
  /// rows and comes first: that one is the running result.
  std::function<void(const SeamPlace& at, RunningResult& running, const AttentionResult& block,
                     std::int64_t q_begin)>
      merge = [](const SeamPlace&, RunningResult& sum, const AttentionResult& part,
                 std::int64_t q_begin) { mergeBlock(sum, part, q_begin); };
  /// The running result after each piece.
  Adjust<RunningResult&> running = kUnchanged;
  /// By ring and all_gather, after each block: the running result of all rows. A block may have no
  /// pieces. `sinks`, [Hq], are those of the rank's heads; undefined if the layer has none.
  Adjust<const std::vector<Piece>&, const at::Tensor& /*sinks*/, RunningResult&> stage = kUnchanged;
  /// The sinks of the rank's heads, before they join the merged result.
  Adjust<at::Tensor& /*sinks*/> sinks = kUnchanged;
  /// By ulysses and hybrid: the index of the first sink that belongs to this rank's heads. at.place
  /// has no layer.
  Adjust<std::int64_t&> first_sink = kUnchanged;
  /// Before the gradients of a block are computed.
  Adjust<BackwardInputs&> backward = kUnchanged;
};

/// The packets that travel round a ring. `kv` and `dkv` wrap the rotation that they are given, or
/// pass it on.
struct RingSeams {
  using Wrap = std::function<std::unique_ptr<Rotation>(
      const SeamPlace& at, const RingSchedule& schedule, std::unique_ptr<Rotation> correct)>;
  /// Returns the ranks that talk to each other. It is called when a strategy is made. That
  /// is at the first training step and when mistakes are injected or lifted. It is at every step if
  /// each step has its own documents. `cp_ranks` are ranks of the cp group, and this rank is among
  /// them.
  std::function<Group(const SeamPlace& at, MeshGroups& groups, std::vector<GroupRank> cp_ranks)>
      group = [](const SeamPlace&, MeshGroups& groups, std::vector<GroupRank> cp_ranks) {
        return Group(groups.cp(), std::move(cp_ranks));
      };
  /// K and V of a layer, in forward and again in backward.
  Wrap kv = [](const SeamPlace&, const RingSchedule&, std::unique_ptr<Rotation> correct) {
    return correct;
  };
  /// The sums of dK and dV, in backward.
  Wrap dkv = kv;
};

/// The model without attention, by LlamaModel.
struct ModelSeams {
  /// The position ids, [B, S], from which cos and sin of the rotary embedding are made.
  Adjust<at::Tensor& /*of_cos*/, at::Tensor& /*of_sin*/> rotary = kUnchanged;
  /// The embedded tokens, [B, S, hidden]. A detached tensor gives the embeddings no gradient.
  Adjust<at::Tensor&> embedded = kUnchanged;
  /// q, k, v of a layer as backward has computed them again (recomputation of activations).
  Adjust<at::Tensor& /*q*/, at::Tensor& /*k*/, at::Tensor& /*v*/> recomputed = kUnchanged;
};

/// The loss of one rank's tokens.
struct LocalLoss {
  double sum = 0;  ///< of the cross entropy over this rank's targets
  std::int64_t targets = 0;
};
/// The loss that is trained on.
struct ReducedLoss {
  double loss = 0;
  std::int64_t targets = 0;  ///< of all ranks
  double scale = 0;          ///< backward computes gradients of local.sum · scale
};

/// The loss, by RankTrainer between forward and backward.
struct LossSeams {
  /// Over the dp × cp ranks.
  std::function<ReducedLoss(const SeamPlace& at, MeshGroups& groups, const LocalLoss& local)>
      reduce = meanOverTargets;
  /// Returns the loss that is logged and verified; training does not use it.
  std::function<double(const SeamPlace& at, const LocalLoss& local, const ReducedLoss& reduced)>
      logged = [](const SeamPlace&, const LocalLoss&, const ReducedLoss& reduced) {
        return reduced.loss;
      };

  /// Sum over all targets, divided by their number; 0 where there is no target.
  static ReducedLoss meanOverTargets(const SeamPlace& at, MeshGroups& groups,
                                     const LocalLoss& local);
};

/// From backward to the optimizer, in this order.
struct GradientSeams {
  /// All gradients of one rank as one flat tensor, before they are summed.
  Adjust<at::Tensor& /*flat*/, double /*max_norm*/> local = kUnchanged;
  /// Sums them over the dp × cp ranks, in place.
  std::function<void(const SeamPlace& at, MeshGroups& groups, at::Tensor& flat)> reduce =
      [](const SeamPlace&, MeshGroups& groups, at::Tensor& flat) {
        groups.dpCp().allReduceSum(flat, traces::Payload::kGrads);
      };
  /// The global 2-norm. `counts_here`: whether this rank's part of a parameter counts, so that one
  /// that several tp ranks hold counts once.
  std::function<double(const SeamPlace& at, MeshGroups& groups, const Gradients& gradients,
                       const CountsInNorm& counts_here)>
      norm = [](const SeamPlace&, MeshGroups& groups, const Gradients& gradients,
                const CountsInNorm& counts_here) {
        return globalNorm(gradients, counts_here, groups.tp());
      };
  std::function<void(const SeamPlace& at, Gradients& gradients, double norm, double max_norm)>
      clip = [](const SeamPlace&, Gradients& gradients, double of_all, double max_norm) {
        clipGradients(gradients, of_all, max_norm);
      };
};

/// Validation, by train and attend before anything starts.
struct CheckSeams {
  /// Why a run cannot be carried out; nothing when it can.
  std::function<std::optional<std::string>(const traces::RunSpec& run)> refusal =
      [](const traces::RunSpec& run) { return traces::refusal(run); };
  /// The mistakes that were made in these seams, in order.
  std::vector<traces::AskedMistake> made;

  /// The refusal, or why one of the mistakes would change nothing of the run.
  std::optional<std::string> reasonAgainst(const traces::RunSpec& run) const;
};

/// A mistake that changes something with some numbers only, and whether it did.
struct WatchedMistake {
  std::string id;
  std::shared_ptr<std::atomic<bool>> changed = std::make_shared<std::atomic<bool>>(false);
};

/// All seams.
struct Seams {
  DataSeams data;
  BufferSeams buffers;
  AttentionSeams attention;
  RingSeams ring;
  ModelSeams model;
  LossSeams loss;
  GradientSeams gradients;
  CheckSeams checks;
  /// The mistakes made here whose effect is not known before the run.
  std::vector<WatchedMistake> watched;
};

/// Returns the flag that a mistake sets when it changes something. A run whose flag is never set
/// says that the mistake changed nothing.
std::shared_ptr<std::atomic<bool>> watchedFlag(Seams& seams, const std::string& mistake);

}  // namespace ringscope::engine
