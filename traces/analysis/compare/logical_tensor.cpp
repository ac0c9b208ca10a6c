// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/compare/logical_tensor.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "traces/analysis/compare/row_tally.h"

namespace ringscope::traces {
namespace {

Selection wholeOf(const LayerTensors& layer) {
  Selection all;
  for (std::int64_t batch = 0; batch < layer.batch; ++batch)
    for (std::int64_t head = 0; head < layer.kv_heads; ++head) all.groups.push_back({batch, head});
  all.rows.resize(layer.tokens.size());
  std::iota(all.rows.begin(), all.rows.end(), 0);
  return all;
}

std::span<const double> rowFor(const LogicalTensor::Head& head, std::size_t row,
                               std::size_t width) {
  return std::span(head.values).subspan(row * width, width);
}

}  // namespace

std::int64_t coordinate(const Trace& trace, WorldRank rank, GroupAxis axis) {
  const GroupRecord* group = trace.groupContaining(rank, axis);
  if (!group) return 0;
  const auto at = std::ranges::find(group->members, rank);
  return at == group->members.end() ? 0 : at - group->members.begin();
}

LogicalTensor LogicalTensor::of(const Trace& trace, const std::vector<LayerTensors>& layers,
                                const std::vector<std::vector<WorldRank>>& groups,
                                TensorKind kind) {
  LogicalTensor all;
  for (std::size_t g = 0; g < layers.size(); ++g) {
    const LayerTensors& layer = layers[g];
    if (!layer.blocking.empty() || !layer.tensors.contains(kind) || layer.tensors.at(kind).empty())
      continue;
    const Selection whole = wholeOf(layer);
    const GatheredRows rows = layer.values(trace, kind, whole);
    const std::int64_t shared = isOfKeys(kind) ? 1 : layer.groupSize();
    const std::int64_t heads = isOfKeys(kind) ? layer.kv_heads : layer.heads;
    const std::int64_t first_sequence =
        coordinate(trace, groups[g].front(), GroupAxis::kDp) * layer.batch;
    const std::int64_t first_head = coordinate(trace, groups[g].front(), GroupAxis::kTp) * heads;
    const std::size_t tokens = layer.tokens.size();
    all.width_ = kind == TensorKind::kLse ? 1 : layer.head_dim;
    const std::size_t numbers = tokens * static_cast<std::size_t>(all.width_);
    std::size_t index = 0;
    for (const HeadGroup& group : whole.groups)
      for (std::int64_t h = 0; h < shared; ++h, ++index) {
        Head head{layer.tokens, {}, {}};
        const auto values = rows.values.begin() + static_cast<std::ptrdiff_t>(index * numbers);
        head.values.assign(values, values + static_cast<std::ptrdiff_t>(numbers));
        const auto ranks = rows.ranks.begin() + static_cast<std::ptrdiff_t>(index * tokens);
        head.ranks.assign(ranks, ranks + static_cast<std::ptrdiff_t>(tokens));
        all.heads_[{first_sequence + group.batch, first_head + group.kv_head * shared + h}] =
            std::move(head);
      }
  }
  return all;
}

LogicalTensor LogicalTensor::of(const InputRows& input) {
  LogicalTensor all;
  for (const auto& [at, entry] : input) {
    Head& head = all.heads_[{at.first, 0}];
    head.tokens.push_back(TokenIndex::of(at.second));
    head.values.push_back(entry.value);
    head.ranks.push_back(entry.rank);
  }
  return all;
}

TensorDifference LogicalTensor::against(const LogicalTensor& other) const {
  RowTally tally;
  for (const auto& [place, head] : heads_) {
    const auto found = other.heads_.find(place);
    if (found == other.heads_.end() || other.width_ != width_) {
      tally.leaveOut(std::ssize(head.tokens));
      continue;
    }
    const Head& theirs = found->second;
    std::size_t matched = 0, j = 0;
    for (std::size_t i = 0; i < head.tokens.size(); ++i) {
      while (j < theirs.tokens.size() && theirs.tokens[j] < head.tokens[i]) ++j;
      if (j == theirs.tokens.size() || theirs.tokens[j] != head.tokens[i]) continue;
      if (!head.ranks[i].exists() || !theirs.ranks[j].exists()) continue;
      ++matched;
      const auto width = static_cast<std::size_t>(width_);
      tally.add(rowFor(head, i, width), rowFor(theirs, j, width),
                {place.first, place.second, head.tokens[i].value()}, head.ranks[i],
                theirs.ranks[j]);
    }
    tally.leaveOut(static_cast<std::int64_t>(head.tokens.size() + theirs.tokens.size()) -
                   2 * static_cast<std::int64_t>(matched));
  }
  for (const auto& [place, head] : other.heads_)
    if (!heads_.contains(place)) tally.leaveOut(std::ssize(head.tokens));
  return tally.difference();
}

}  // namespace ringscope::traces
