// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/rounding/merged_blocks.h"

#include <algorithm>
#include <functional>

#include "traces/plan/mask.h"
#include "traces/plan/pieces_for.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {
namespace {

constexpr double kLeastWeight = 0x1p-149;  ///< the smallest weight above 0 in fp32

std::vector<std::size_t> tokensIn(const ShardLayout& layout, GroupRank rank) {
  std::vector<std::size_t> tokens;
  for (const TokenIndex token : layout.globalFromLocal(rank)) tokens.push_back(token.index());
  return tokens;
}

void addOne(std::vector<double>& counts, std::int64_t begin, std::int64_t end) {
  const auto size = std::ssize(counts);
  for (std::int64_t i = std::max<std::int64_t>(0, begin); i < std::min<std::int64_t>(end, size);
       ++i)
    ++counts[static_cast<std::size_t>(i)];
}

}  // namespace

MergedBlocks MergedBlocks::whole(std::size_t length) {
  const std::vector<double> once(length, 1);
  return {std::vector<std::size_t>(length, 0), 1, once, once, once};
}

MergedBlocks MergedBlocks::of(const ShardLayout& layout, const Mask& mask) {
  const auto length = static_cast<std::size_t>(layout.length());
  const std::vector<double> none(length, 0);
  MergedBlocks blocks{std::vector<std::size_t>(length, 0),
                      static_cast<std::size_t>(layout.cpSize()), none, none, none};
  std::vector<std::vector<std::size_t>> tokens;
  for (const GroupRank rank : everyRank(layout.cpSize())) {
    tokens.push_back(tokensIn(layout, rank));
    for (const std::size_t token : tokens.back()) blocks.block_of_key[token] = rank.index();
  }
  for (const GroupRank query : everyRank(layout.cpSize()))
    for (const GroupRank source : everyRank(layout.cpSize()))
      blocks.countPieces(piecesFor(layout, mask, query, source), tokens[query.index()],
                         tokens[source.index()]);
  return blocks;
}

void MergedBlocks::countPieces(std::span<const Piece> pieces, std::span<const std::size_t> queries,
                               std::span<const std::size_t> keys) {
  std::vector<double> of_rows(queries.size(), 0), of_keys(keys.size(), 0);
  for (const Piece& piece : pieces) {
    // A damaged recording may name rows that the shard does not have, and cutting them takes long.
    if (piece.q_begin < 0 || piece.q_end > std::ssize(queries) || piece.k_begin < 0 ||
        piece.k_end > std::ssize(keys))
      continue;
    for (const Piece& cut : cutDiagonalIntoStrips(piece)) addOne(of_rows, cut.q_begin, cut.q_end);
    for (const Piece& cut : cutDiagonal(piece)) addOne(of_keys, cut.k_begin, cut.k_end);
  }
  for (std::size_t i = 0; i < queries.size(); ++i) {
    row_parts[queries[i]] += of_rows[i];
    if (of_rows[i] > 0) ++row_blocks[queries[i]];
  }
  for (std::size_t i = 0; i < keys.size(); ++i) key_parts[keys[i]] += of_keys[i];
}

MergedBlocks MergedBlocks::selected(std::span<const std::size_t> rows,
                                    std::span<const std::size_t> keys) const {
  MergedBlocks part;
  part.blocks = blocks;
  for (const std::size_t row : rows) {
    part.row_blocks.push_back(row_blocks[row]);
    part.row_parts.push_back(row_parts[row]);
  }
  for (const std::size_t key : keys) {
    part.block_of_key.push_back(block_of_key[key]);
    part.key_parts.push_back(key_parts[key]);
  }
  return part;
}

/// A block that is attended in several pieces is merged as often. A block whose weights are 0 in
/// fp32 changes nothing when it is merged.
MergeSums MergedBlocks::sumsOver(std::size_t row, std::size_t first_key,
                                 std::span<const double> weights) const {
  const double merges = std::max(0.0, row_parts[row] - 1),
               of_blocks = std::max(0.0, row_blocks[row] - 1);
  if (blocks == 1) return {std::max(1.0, merges), std::max(0.0, merges - 1) / 4};
  std::vector<double> shares(blocks, 0);
  for (std::size_t j = 0; j < weights.size(); ++j)
    shares[block_of_key[first_key + j]] += weights[j];
  std::ranges::sort(shares, std::greater());
  const double times = merges / std::max(1.0, of_blocks);
  double squares = 0, mixed = 0, left = shares.front();
  for (std::size_t b = 1; b < blocks && shares[b] > kLeastWeight; ++b) {
    left = std::min(1.0, left + shares[b]);
    squares += left * left;
    mixed += left * (1 - left);
  }
  return {std::max(1.0, times * (of_blocks > 0 ? squares : 1)), times * mixed};
}

}  // namespace ringscope::traces
