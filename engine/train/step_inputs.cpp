// SPDX-License-Identifier: Apache-2.0
#include "engine/train/step_inputs.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "engine/data/batch_layout.h"
#include "engine/data/sharded_batch.h"
#include "traces/plan/run_rules.h"

namespace ringscope::engine {
namespace {

/// Returns the rows of freqs_cis on the rank; undefined if the table is not cut.
at::Tensor rotaryRows(const SeamPlace& at, const Seams& seams, const std::vector<BufferCut>& cuts,
                      std::int64_t length) {
  const auto cut = std::ranges::find(cuts, std::string(traces::kRotaryTable), &BufferCut::buffer);
  return cut == cuts.end() ? at::Tensor()
                           : seams.buffers.cut(at, *cut, at::arange(length, at::kLong));
}

RankInputs inputsOf(const SeamPlace& at, const Seams& seams, const traces::RunSpec& run,
                    const BatchSource& batches) {
  const Batch own = seams.data.batch(at, batches);
  const std::int64_t length = batches.sequenceLength();
  const ShardLayout layout =
      layoutFor(seams.buffers.layout(length, run.cp, *run.balance, {{0, length}}), own, 0);
  std::vector<BufferCut> cuts = bufferCuts(traces::chosenBuffers(run), layout);
  seams.buffers.cuts(at, cuts);
  Batch local = cutBatch(own, cuts, [&](const BufferCut& cut, const at::Tensor& whole) {
    return seams.buffers.cut(at, cut, whole);
  });
  const at::Tensor rows = rotaryRows(at, seams, cuts, length);
  const bool numbered = std::ranges::find(cuts, "position_ids", &BufferCut::buffer) != cuts.end();
  if (rows.defined() && !numbered)
    local.position_ids = rows.expand_as(local.position_ids).contiguous();
  seams.buffers.sharded(at, local);
  at::Tensor of_cos = rows.defined() ? rows.expand_as(local.position_ids) : local.position_ids,
             of_sin = of_cos;
  seams.model.rotary(at, of_cos, of_sin);
  return {{local.input_ids, local.labels, local.position_ids, of_cos, of_sin},
          layout,
          own.maskFor(Mask::of(run), 0)};
}

}  // namespace

PlannedRun plannedTraining(const traces::RunSpec& run, std::shared_ptr<const BatchSource> batches) {
  return {run, Mesh{run.dp, run.tp, run.cp},
          [run, batches = std::move(batches)](const SeamPlace& at, const Seams& seams) {
            return inputsOf(at, seams, run, *batches);
          }};
}

}  // namespace ringscope::engine
