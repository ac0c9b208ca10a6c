// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/documents.h"

#include <algorithm>

namespace ringscope::viz {

DocumentStarts::DocumentStarts(const traces::Trace& trace, int train_step) {
  if (trace.run().value("positions", "global") == "global") return;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    const auto* shard = trace.findShard("position_ids", train_step, rank);
    const auto* tensor = trace.findTensor("buffer.position_ids", {train_step}, rank);
    const auto values = tensor ? trace.values(*tensor) : std::nullopt;
    if (!shard || !values) continue;
    std::size_t local = 0;
    for (const auto& run : shard->global_from_local)
      for (std::int64_t g = run.begin; g < run.end && local < values->size(); ++g)
        if ((*values)[local++] == 0) starts_.push_back(g);
  }
  std::sort(starts_.begin(), starts_.end());
  starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
}

std::int64_t DocumentStarts::positionOf(std::int64_t global) const {
  return global - *std::prev(std::upper_bound(starts_.begin(), starts_.end(), global));
}

bool DocumentStarts::beginsAt(std::int64_t global) const {
  return global > 0 && std::binary_search(starts_.begin(), starts_.end(), global);
}

}  // namespace ringscope::viz
