// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/position_documents.h"

#include <algorithm>
#include <set>

#include "traces/analysis/verify/recompute/restarted_positions.h"
#include "traces/format/trace/own_tokens.h"

namespace ringscope::traces {
namespace {

/// Reports whether rows of `length` values are not all the same.
bool rowsDiffer(const std::vector<double>& values, std::int64_t length) {
  for (std::size_t i = static_cast<std::size_t>(length); i < values.size(); ++i)
    if (values[i] != values[i % static_cast<std::size_t>(length)]) return true;
  return false;
}

}  // namespace

PositionDocuments documentsByPositions(const Trace& trace, const LayerTensors& layer) {
  std::vector<double> position(layer.tokens.size(), -1);
  const auto& parts = layer.tensors.find(TensorKind::kQ);
  if (parts == layer.tensors.end()) return {};
  PositionDocuments found;
  bool has_axes = false;  // positions of images do not go on by 1
  for (const RankTensor& part : parts->second) {
    const auto* record =
        trace.findTensor({TensorKind::kPositionIds}, {layer.pass.train_step}, part.rank);
    auto values = record ? trace.values(*record) : std::nullopt;
    const std::int64_t rows = record && !record->shape.empty() ? record->shape.back() : 0;
    const auto tokens =
        ownTokens(trace, layer.pass.train_step, part.rank, rows, layer.pass.microbatch);
    if (!values || rows == 0 || std::ssize(*values) < rows) return {};
    has_axes = has_axes || record->shape.size() > 2;
    values = positionsOverAxes(*record, *std::move(values));
    found.entries_differ = found.entries_differ || rowsDiffer(*values, rows);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto at = std::ranges::lower_bound(layer.tokens, tokens[i]);
      if (at == layer.tokens.end() || *at != tokens[i]) return {};
      position[static_cast<std::size_t>(at - layer.tokens.begin())] = (*values)[i];
    }
  }
  if (found.entries_differ) return found;
  std::vector<TokenRun>& documents = found.documents;
  std::set<WorldRank> begun;
  for (std::size_t t = 0; t < position.size(); ++t) {
    const std::int64_t token = layer.tokens[t].value();
    const bool begins_shard = begun.insert(layer.owners[t]).second;
    if (position[t] == 0) {
      found.within_shard = found.within_shard || !begins_shard;
      documents.push_back({token, token + 1});
    } else if (t == 0 || (!has_axes && position[t] != position[t - 1] + 1)) {
      return {};
    } else {
      documents.back().end = token + 1;
    }
  }
  return documents.size() > 1 ? found : PositionDocuments();
}

}  // namespace ringscope::traces
