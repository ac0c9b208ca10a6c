// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/documents.h"

#include <algorithm>
#include <limits>

namespace ringscope::viz {

DocumentStarts::DocumentStarts(const traces::Trace& trace, int train_step) {
  if (trace.run().value("positions", "global") == "global") return;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    const auto* shard = trace.findShard("position_ids", train_step, rank);
    const auto* tensor = trace.findTensor("buffer.position_ids", {train_step}, rank);
    const auto values = tensor ? trace.values(*tensor) : std::nullopt;
    known_ = known_ && shard && values;
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

std::optional<std::vector<traces::TokenRun>> attendedDocuments(const traces::Trace& trace,
                                                               int train_step) {
  const auto& run = trace.run();
  const auto length = run.value("seq_len", std::numeric_limits<std::int64_t>::max());
  if (run.value("mask", "causal") != "documents") return {{{0, length}}};
  std::vector<traces::TokenRun> documents;
  if (const auto recorded = run.find("documents"); recorded != run.end()) {
    for (const auto& document : *recorded)
      if (document.is_array() && document.size() == 2 && document[0].is_number_integer() &&
          document[1].is_number_integer())
        documents.push_back({document[0], document[1]});
    return documents;
  }
  const DocumentStarts starts(trace, train_step);
  if (run.value("positions", "global") == "global" || !starts.known()) return std::nullopt;
  for (std::size_t d = 0; d < starts.all().size(); ++d)
    documents.push_back(
        {starts.all()[d], d + 1 < starts.all().size() ? starts.all()[d + 1] : length});
  return documents;
}

}  // namespace ringscope::viz
