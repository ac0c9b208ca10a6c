// SPDX-License-Identifier: Apache-2.0
// Mistakes in how losses and gradients of ranks become one.
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Each rank takes the mean over its own targets, and the ranks the mean of those.
void injectMeanOfLocalMeans(Seams& seams) {
  seams.loss.reduce = [](const SeamPlace&, MeshGroups& groups, const LocalLoss& local) {
    const double own_scale = local.targets > 0 ? 1.0 / static_cast<double>(local.targets) : 0.0;
    at::Tensor totals =
        at::tensor({local.sum * own_scale, static_cast<double>(local.targets)}, at::kDouble);
    groups.dpCp().allReduceSum(totals, traces::Payload::kScalars);
    const double ranks = groups.dpCp().size();
    return ReducedLoss{totals[0].item<double>() / ranks,
                       static_cast<std::int64_t>(totals[1].item<double>()), own_scale / ranks};
  };
}

/// The loss is taken times cp, for a reduction that divides by all ranks and is not there.
void injectLossScaledByCp(Seams& seams) {
  seams.loss.reduce = [before = seams.loss.reduce](const SeamPlace& at, MeshGroups& groups,
                                                   const LocalLoss& local) {
    ReducedLoss reduced = before(at, groups, local);
    reduced.loss *= at.mesh.cp;
    reduced.scale *= at.mesh.cp;
    return reduced;
  };
}

/// The log shows the mean over this rank's own targets.
void injectMetricNotReduced(Seams& seams) {
  seams.loss.logged = [](const SeamPlace&, const LocalLoss& local, const ReducedLoss&) {
    return local.sum / static_cast<double>(local.targets);
  };
}

/// A rank has a long prompt and no target, and divides by its own targets before the means are put
/// together.
void injectRankWithoutTargets(Seams& seams) {
  extend(seams.buffers.sharded,
         [](const SeamPlace&, Batch& local) { local.labels = at::full_like(local.labels, -100); });
  seams.loss.reduce = [](const SeamPlace& at, MeshGroups& groups, const LocalLoss& local) {
    const auto own = static_cast<double>(local.targets);
    const ReducedLoss of_all =
        LossSeams::meanOverTargets(at, groups, {local.sum / own * own, local.targets});
    return ReducedLoss{of_all.loss, of_all.targets, 1.0 / own * (own * of_all.scale)};
  };
}

/// Gradients are reduced over dp alone, so each cp rank keeps those of its own tokens.
void injectMissingCpGradReduce(Seams& seams) {
  seams.gradients.reduce = [](const SeamPlace&, MeshGroups& groups, at::Tensor& flat) {
    if (groups.dp().size() > 1) groups.dp().allReduceSum(flat, traces::Payload::kGrads);
  };
}

/// The sum of the gradients is taken times cp.
void injectGradScaledByCp(Seams& seams) {
  seams.gradients.reduce = [before = seams.gradients.reduce](const SeamPlace& at,
                                                             MeshGroups& groups, at::Tensor& flat) {
    before(at, groups, flat);
    flat.mul_(at.mesh.cp);
  };
}

/// Each rank clips by the norm of its own gradients before they are summed. Nothing is clipped
/// either way when neither these nor the sum are longer than the limit.
void injectClipBeforeReduce(Seams& seams) {
  const auto changed = watchedFlag(seams, "clip_before_reduce");
  extend(seams.gradients.local, [changed](const SeamPlace&, at::Tensor& flat, double max_norm) {
    const double norm = flat.to(at::kDouble).norm().item<double>();
    const double coefficient = std::min(1.0, max_norm / (norm + 1e-6));
    if (coefficient < 1) *changed = true;
    flat.mul_(coefficient);
  });
  seams.gradients.clip = [changed](const SeamPlace&, Gradients&, double norm, double max_norm) {
    if (max_norm / (norm + 1e-6) < 1) *changed = true;
  };
}

/// Squares are summed over all ranks, although dp and cp ranks hold the same gradients, and tp
/// ranks some.
void injectNormCountsReplicas(Seams& seams) {
  seams.gradients.norm = [](const SeamPlace&, MeshGroups& groups, const Gradients& gradients,
                            const CountsInNorm&) {
    return globalNorm(
        gradients, [](const std::string&) { return true; }, groups.world());
  };
}

/// The embedded tokens were resized in place and have lost their graph.
void injectEmbeddingDetached(Seams& seams) {
  extend(seams.model.embedded,
         [](const SeamPlace&, at::Tensor& embedded) { embedded = embedded.detach(); });
}

}  // namespace ringscope::engine
