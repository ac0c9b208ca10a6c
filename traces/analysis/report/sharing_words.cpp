// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/report/sharing_words.h"

#include "traces/analysis/verify/recompute/gather.h"
#include "traces/format/trace/framework.h"

namespace ringscope::traces {

std::optional<SharingWords> describeSharing(const Trace& trace) {
  const RunSpec* run = trace.run();
  if (!run) return std::nullopt;
  if (!isForeign(trace)) return SharingWords{name(run->strategy), name(run->mask)};
  const RecordedLayers layers = recordedLayers(trace);
  if (layers.with_values.empty() && layers.without_values == 0) return std::nullopt;
  SharingWords words;
  if (run->cp > 1) words.strategy = name(run->strategy);
  if (!trace.intents().empty()) words.mask = name(run->mask);
  return words;
}

}  // namespace ringscope::traces
