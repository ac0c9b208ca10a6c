// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/device_scale.h"

#include "traces/analysis/clock/recorded_rank.h"
#include "traces/analysis/clock/stage_work.h"
#include "traces/format/core/error.h"
#include "traces/plan/attended_pairs.h"

namespace ringscope::traces {
namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

bool hasSizes(const RunSpec& run) {
  const ModelShape& model = run.model;
  return model.layers > 0 && model.heads > 0 && model.head_dim > 0 && run.batch > 0 && run.cp > 0 &&
         run.cp <= 1024 && run.seq_len >= run.cp && run.seq_len <= std::int64_t{1} << 30;
}

/// Returns the pairs of one sequence and layer on all ranks.
double countPairs(const RunSpec& run) {
  double pairs = 0;
  for (const auto& on_rank : attendedPairs(run))
    for (const std::int64_t in_block : on_rank) pairs += real(in_block);
  return pairs;
}

}  // namespace

DeviceScale deviceScale(const RecordedProgram& recorded, const RunSpec* run,
                        const DeviceRates& device, double efficiency) {
  if (!run || !hasSizes(*run)) return {0, "the recording does not say how large the model is"};
  if (dependsOnDocuments(*run)) return {0, "how much is attended depends on where documents end"};
  std::int64_t worked_ns = 0;
  bool forward = false, backward = false;
  for (const auto& events : recorded.events)
    for (const Event& event : events) {
      // Plans leave out attention that is computed again in backward.
      if (event.kind != EventKind::kAttend || event.pass == Pass::kRecompute) continue;
      worked_ns += ownTimeNs(event);
      (event.place.direction == Direction::kForward ? forward : backward) = true;
    }
  if (worked_ns == 0) return {0, "no time was recorded for attention"};
  try {
    const ModelShape& model = run->model;
    const double pairs =
        real(model.heads) * real(model.layers) * real(run->batch) * countPairs(*run);
    double flops = 0;
    if (forward) flops += attentionFlops(Direction::kForward, pairs, model.head_dim);
    if (backward) flops += attentionFlops(Direction::kBackward, pairs, model.head_dim);
    const double seconds = flops / deviceSpeed(device, *run, efficiency).attention_flops;
    if (!(seconds > 0)) return {0, "nothing is attended"};
    return {real(worked_ns) * 1e-9 / seconds, {}};
  } catch (const Error& error) {
    return {0, error.what()};
  }
}

}  // namespace ringscope::traces
