// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/merged_blocks.h"

#include <ATen/ATen.h>

#include <vector>

#include "engine/plan.h"

namespace ringscope::engine {
namespace {

using Counts = std::vector<float>;

/// Counts the parts that the pair of a query shard and a key shard adds to each of their tokens.
void countParts(const std::vector<Piece>& pieces, Counts& rows, Counts& keys) {
  const auto add = [](Counts& counts, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++counts[static_cast<std::size_t>(i)];
  };
  for (const Piece& piece : pieces) {
    for (const Piece& cut : cutDiagonalIntoStrips(piece)) add(rows, cut.q_begin, cut.q_end);
    for (const Piece& cut : cutDiagonal(piece)) add(keys, cut.k_begin, cut.k_end);
  }
}

at::Tensor tokensIn(const ShardLayout& layout, GroupRank rank) {
  std::vector<std::int64_t> tokens;
  for (const TokenIndex token : layout.globalFromLocal(rank)) tokens.push_back(token.value());
  return at::tensor(tokens, at::kLong);
}

void addAt(const at::Tensor& all, const at::Tensor& tokens, const Counts& counts) {
  all.index_add_(0, tokens, at::tensor(counts, at::kFloat));
}

}  // namespace

MergedBlocks MergedBlocks::whole(std::int64_t length) {
  const at::Tensor ones = at::ones({length}, at::kFloat);
  return {ones.unsqueeze(1), ones, ones, ones};
}

MergedBlocks MergedBlocks::of(const ShardLayout& layout, const Mask& mask) {
  MergedBlocks blocks{at::zeros({layout.length(), layout.cpSize()}, at::kFloat),
                      at::zeros({layout.length()}, at::kFloat),
                      at::zeros({layout.length()}, at::kFloat),
                      at::zeros({layout.length()}, at::kFloat)};
  std::vector<at::Tensor> tokens;
  std::vector<Counts> key_counts;
  for (const GroupRank rank : everyRank(layout.cpSize())) {
    tokens.push_back(tokensIn(layout, rank));
    key_counts.emplace_back(static_cast<std::size_t>(tokens.back().numel()), 0.0F);
    blocks.of_keys.select(1, rank.value()).index_fill_(0, tokens.back(), 1);
  }
  for (const GroupRank query : everyRank(layout.cpSize())) {
    Counts parts(key_counts[query.index()].size(), 0), attended = parts;
    for (const GroupRank source : everyRank(layout.cpSize())) {
      const Counts before = parts;
      countParts(piecesFor(layout, mask, query, source), parts, key_counts[source.index()]);
      for (std::size_t i = 0; i < parts.size(); ++i) attended[i] += parts[i] > before[i] ? 1.0F : 0;
    }
    addAt(blocks.row_blocks, tokens[query.index()], attended);
    addAt(blocks.row_parts, tokens[query.index()], parts);
  }
  for (const GroupRank source : everyRank(layout.cpSize()))
    addAt(blocks.key_parts, tokens[source.index()], key_counts[source.index()]);
  return blocks;
}

/// A block that is attended in several pieces is merged as often. A block whose weights are 0 in
/// fp32 changes nothing when it is merged.
MergeSums MergedBlocks::sumsOver(const at::Tensor& weights, std::int64_t first_row) const {
  const auto countsOf = [&](const at::Tensor& of_rows) {
    return (of_rows.slice(0, first_row, first_row + weights.size(2)) - 1).clamp_min(0);
  };
  const at::Tensor merges = countsOf(row_parts), of_blocks = countsOf(row_blocks);
  if (of_keys.size(1) == 1) {
    const at::Tensor of_rows = merges.expand({weights.size(0), weights.size(1), -1});
    return {of_rows.clamp_min(1), (of_rows - 1).clamp_min(0) / 4};
  }
  const at::Tensor shares = std::get<0>(at::matmul(weights, of_keys).sort(-1, true));
  const at::Tensor merged = shares.slice(-1, 1).gt(0).to(at::kFloat),
                   left = shares.cumsum(-1).slice(-1, 1).clamp_max(1);
  const at::Tensor times = merges / of_blocks.clamp_min(1);
  const at::Tensor squares = times * at::where(of_blocks > 0, (left * left * merged).sum(-1), 1.0);
  return {squares.clamp_min(1), times * (left * (1 - left) * merged).sum(-1)};
}

}  // namespace ringscope::engine
