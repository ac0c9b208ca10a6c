// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

#include <ATen/ATen.h>

#include "traces/analysis/mistakes/run_with_mistakes.h"

namespace ringscope::engine {

Batch DataSeams::ofDpRank(const SeamPlace& at, const BatchSource& source) {
  const Batch batch = source.batch(at.place.train_step);
  const std::int64_t count = batch.input_ids.size(0) / at.mesh.dp;
  return batch.sequences(at.rank.dp.value() * count, at.rank.dp.next().value() * count);
}

ReducedLoss LossSeams::meanOverTargets(const SeamPlace&, MeshGroups& groups,
                                       const LocalLoss& local) {
  at::Tensor totals = at::tensor({local.sum, static_cast<double>(local.targets)}, at::kDouble);
  groups.dpCp().allReduceSum(totals, traces::Payload::kScalars);
  ReducedLoss reduced;
  reduced.targets = static_cast<std::int64_t>(totals[1].item<double>());
  reduced.scale = reduced.targets > 0 ? 1.0 / static_cast<double>(reduced.targets) : 0.0;
  reduced.loss = totals[0].item<double>() * reduced.scale;
  return reduced;
}

std::optional<std::string> CheckSeams::reasonAgainst(const traces::RunSpec& run) const {
  if (auto reason = refusal(run)) return reason;
  for (const traces::AskedMistake& asked : made)
    if (auto reason = traces::reasonAgainst(run, asked)) return reason;
  return {};
}

std::shared_ptr<std::atomic<bool>> watchedFlag(Seams& seams, const std::string& mistake) {
  seams.watched.push_back({mistake});
  return seams.watched.back().changed;
}

}  // namespace ringscope::engine
