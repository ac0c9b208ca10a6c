// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/restarted_positions.h"

#include <algorithm>

#include "traces/format/trace/own_tokens.h"

namespace ringscope::traces {

namespace {

constexpr std::size_t kDimensionsOfAxes = 3;

}  // namespace

std::vector<double> positionsOverAxes(const TensorRecord& ids, std::vector<double> values) {
  if (ids.shape.size() != kDimensionsOfAxes || ids.shape.front() < 1) return values;
  const std::size_t size = values.size() / static_cast<std::size_t>(ids.shape.front());
  for (std::size_t i = size; i < values.size(); ++i)
    values[i % size] = std::max(values[i % size], values[i]);
  values.resize(size);
  return values;
}

RestartedPositions::RestartedPositions(const Trace& trace, std::int32_t train_step,
                                       const std::vector<WorldRank>& members)
    : ranks_(members.size()) {
  for (const WorldRank rank : members)
    if (const auto* ids = trace.findTensor({TensorKind::kPositionIds}, {train_step}, rank))
      if (!ids->shape.empty() && ids->shape.size() <= kDimensionsOfAxes) read(trace, *ids);
}

void RestartedPositions::read(const Trace& trace, const TensorRecord& ids) {
  const auto recorded = trace.values(ids);
  const auto length = static_cast<std::size_t>(ids.shape.back());
  if (!recorded || recorded->empty() || length == 0) return;
  const std::vector<double> values = positionsOverAxes(ids, *recorded);
  const auto tokens = ownTokens(trace, ids.place.train_step, ids.rank, ids.shape.back());
  const std::size_t entries = values.size() / length;
  of_one_entry_ = of_one_entry_ && entries == 1;
  bool begins_with_0 = entries > 0;
  for (std::size_t entry = 0; entry < entries; ++entry) {
    begins_with_0 = begins_with_0 && values[entry * length] == 0;
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (values[entry * length + i] == 0 && tokens[i].value() > 0)
        tokens_.insert({entry, tokens[i]});
  }
  beginning_ += begins_with_0 ? 1 : 0;
}

bool RestartedPositions::at(std::size_t entry, TokenIndex token) const {
  return tokens_.contains({of_one_entry_ ? 0 : entry, token});
}

}  // namespace ringscope::traces
