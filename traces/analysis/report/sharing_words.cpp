// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/report/sharing_words.h"

#include <algorithm>

#include "traces/format/trace/framework.h"

namespace ringscope::traces {

std::optional<SharingWords> describeSharing(const Trace& trace) {
  const RunSpec* run = trace.run();
  if (!run) return std::nullopt;
  if (!isForeign(trace)) return SharingWords{name(run->strategy), name(run->mask)};
  const bool has_attention = std::ranges::any_of(trace.tensors(), [](const TensorRecord& tensor) {
    return tensor.tensor.kind == TensorKind::kQ || tensor.tensor.kind == TensorKind::kOut;
  });
  if (!has_attention) return std::nullopt;
  SharingWords words;
  if (run->cp > 1) words.strategy = name(run->strategy);
  if (!trace.intents().empty()) words.mask = name(run->mask);
  return words;
}

}  // namespace ringscope::traces
