// SPDX-License-Identifier: Apache-2.0
// Merges the recorded blocks again in fp64, by log-sum-exp weights and by plain addition, and says
// which of the two the recorded out is.
#include <algorithm>
#include <cmath>
#include <set>

#include "traces/core/prose.h"
#include "traces/doctor/rule.h"
#include "traces/query/layer_merge.h"
#include "traces/query/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// Over the rows that several blocks were merged into; with one block both ways are the same.
struct Comparison {
  double weighted_error = 0, plain_error = 0, scale = 0;
  int most_blocks = 0;
  TokenIndex worst_token;
};

/// Of the rows of one rank, which merges by itself.
Comparison compare(const LayerMerge& merge, const std::vector<WorldRank>& owners, WorldRank rank) {
  Comparison c;
  const auto width = static_cast<std::size_t>(merge.width);
  for (std::size_t row = 0; row < merge.blocks.size(); ++row) {
    const std::size_t token = row % merge.tokens.size();
    if (merge.blocks[row] < 2 || owners[token] != rank) continue;
    c.most_blocks = std::max(c.most_blocks, merge.blocks[row]);
    for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
      const double weighted = std::abs(merge.out[i] - merge.weighted[i]);
      c.plain_error = std::max(c.plain_error, std::abs(merge.out[i] - merge.plain[i]));
      c.scale = std::max(c.scale, std::abs(merge.out[i]));
      if (weighted <= c.weighted_error) continue;
      c.weighted_error = weighted;
      c.worst_token = merge.tokens[token];
    }
  }
  return c;
}

Finding finding(const Place& place, WorldRank owner, const Comparison& c) {
  Finding f;
  f.rule = "naive_sum_merge";
  f.severity = "error";
  f.confidence = c.plain_error < 1e-3 * c.weighted_error ? "certain" : "likely";
  f.title = "Block outputs are added without their log-sum-exp weights";
  f.place = place;
  f.rank = owner;
  f.buffer = "out";
  f.evidence = "The recorded out equals the plain sum of up to " + std::to_string(c.most_blocks) +
               " blocks a row within " + describeSignificant(c.plain_error, 2) +
               "; from the sum weighted by exp(block_lse − lse) it differs by " +
               describeSignificant(c.weighted_error, 2) + " at token " +
               describeCount(c.worst_token.value()) + ", where out's largest value is " +
               describeSignificant(c.scale, 2) + ".";
  f.remedy =
      "Each block's out is normalised by its own sum. Merge with m = max(lse, block_lse), "
      "lse' = m + log(exp(lse − m) + exp(block_lse − m)), out' = exp(lse − lse')·out + "
      "exp(block_lse − lse')·block_out, in fp32.";
  return f;
}

/// The owner of each token of a merge.
std::vector<WorldRank> ownersOf(const Trace& trace, std::int32_t train_step,
                                const LayerMerge& merge, const std::vector<WorldRank>& members) {
  std::vector<WorldRank> owners(merge.tokens.size());
  auto index = [&](std::int64_t token) {
    const auto at =
        std::lower_bound(merge.tokens.begin(), merge.tokens.end(), TokenIndex::of(token));
    return at - merge.tokens.begin();
  };
  for (const ShardRecord& shard : trace.shards())
    if (shard.train_step == train_step &&
        std::find(members.begin(), members.end(), shard.rank) != members.end())
      for (const TokenRun& run : shard.global_from_local)
        std::fill(owners.begin() + index(run.begin), owners.begin() + index(run.end), shard.rank);
  return owners;
}

/// Every (training step, layer) that recorded an out.
std::set<std::pair<std::int32_t, std::int32_t>> layersOf(const Trace& trace) {
  std::set<std::pair<std::int32_t, std::int32_t>> layers;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor.kind == TensorKind::kOut && tensor.place.direction == Direction::kForward)
      layers.emplace(tensor.place.train_step, tensor.place.layer.value());
  return layers;
}

}  // namespace

RuleResult checkNaiveSumMerge(const Trace& trace) {
  if (trace.run() && trace.run()->cp == 1) return clear();
  bool compared = false;
  for (const auto& [train_step, layer] : layersOf(trace))
    for (const auto& members : sequenceGroups(trace)) {
      const auto merge = mergeLayer(trace, train_step, Layer::of(layer), members);
      if (!merge) continue;
      compared = true;
      const auto owners = ownersOf(trace, train_step, *merge, members);
      for (const WorldRank rank : members) {
        const Comparison c = compare(*merge, owners, rank);
        if (c.weighted_error > 1e-2 * c.scale && c.plain_error < c.weighted_error / 10)
          return found(finding({train_step, Layer::of(layer), Direction::kForward, {}}, rank, c));
      }
    }
  return compared ? clear() : notObservable("needs out, lse, block_out and block_lse of one layer");
}

}  // namespace ringscope::traces
