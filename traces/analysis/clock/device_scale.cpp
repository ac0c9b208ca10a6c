// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/device_scale.h"

#include "traces/analysis/clock/recorded_rank.h"
#include "traces/format/core/error.h"
#include "traces/plan/attended_pairs.h"

namespace ringscope::traces {
namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// Sizes that a run can have.
bool isKnown(const RunSpec& run) {
  const ModelShape& model = run.model;
  return model.layers > 0 && model.heads > 0 && model.head_dim > 0 && run.batch > 0 && run.cp > 0 &&
         run.cp <= 1024 && run.seq_len >= run.cp && run.seq_len <= std::int64_t{1} << 30;
}

struct Attended {
  std::int64_t worked_ns = 0;
  bool forward = false, backward = false;
};

/// What was computed again in backward is left out, as plans leave it out.
Attended attendedIn(const RecordedProgram& recorded) {
  Attended attended;
  for (const auto& events : recorded.events)
    for (const Event& event : events) {
      if (event.kind != EventKind::kAttend || event.pass == Pass::kRecompute) continue;
      attended.worked_ns += workOf(event);
      (event.place.direction == Direction::kForward ? attended.forward : attended.backward) = true;
    }
  return attended;
}

/// Of one sequence and layer, all ranks together.
double pairsOf(const RunSpec& run) {
  double pairs = 0;
  for (const auto& of_rank : attendedPairs(run))
    for (const std::int64_t of_source : of_rank) pairs += real(of_source);
  return pairs;
}

}  // namespace

DeviceScale deviceScale(const RecordedProgram& recorded, const RunSpec* run,
                        const DeviceRates& device, double efficiency) {
  if (!run || !isKnown(*run)) return {0, "the recording does not say how large the model is"};
  if (run->mask == MaskKind::kDocuments)
    return {0, "how much is attended depends on where documents end"};
  const Attended attended = attendedIn(recorded);
  if (attended.worked_ns == 0) return {0, "no time was recorded for attention"};
  try {
    const ModelShape& model = run->model;
    const double once = 4 * real(model.head_dim) * real(model.heads) * real(model.layers) *
                        real(run->batch) * pairsOf(*run);
    const DeviceSpeed speed = speedOf(device, *run, efficiency);
    const double seconds = (attended.forward ? once / speed.attention_flops : 0) +
                           (attended.backward ? 2.5 * once / speed.attention_backward_flops : 0);
    if (!(seconds > 0)) return {0, "nothing is attended"};
    return {real(attended.worked_ns) * 1e-9 / seconds, {}};
  } catch (const Error& error) {
    return {0, error.what()};
  }
}

}  // namespace ringscope::traces
