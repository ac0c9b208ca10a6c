// SPDX-License-Identifier: Apache-2.0
// Merges the recorded blocks again in fp64, by log-sum-exp weights and by plain addition, and says
// which of the two the recorded out is.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/row_limits.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/layer_merge.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// How far a sum may be from the recorded out, as a share of the row's largest value.
struct Rounding {
  double of_out, of_sums;
};

Rounding roundingOf(const Trace& trace, const Place& place, WorldRank rank) {
  const auto unit = [&](TensorKind kind) {
    const TensorRecord* tensor = trace.findTensor({kind}, place, rank);
    return tensor ? unitRoundoff(tensor->dtype) : 0;
  };
  return {unit(TensorKind::kOut), unit(TensorKind::kLse)};
}

/// Over the rows of one rank that several blocks were merged into: which sum each of them is.
struct Comparison {
  int rows = 0, unlike_weighted = 0, unlike_plain = 0;
  double weighted_error = 0, plain_error = 0, scale = 0;
  int most_blocks = 0;
  TokenIndex worst_token;

  /// Where all rows are plain sums, and not all could be weighted ones as well.
  bool addsPlainly() const { return unlike_weighted > 0 && unlike_plain == 0; }
  /// Something else was done with the blocks, or not all of them were recorded.
  bool isNeither() const { return unlike_weighted > 0 && unlike_plain > 0; }
};

/// One row into the comparison.
void compareRow(Comparison& c, const LayerMerge& merge, std::size_t row, Rounding rounding) {
  const auto width = static_cast<std::size_t>(merge.width);
  double weighted = 0, plain = 0, scale = 0;
  for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
    // A sink takes its share of either sum.
    const double added = merge.plain[i] * merge.share[row];
    weighted = std::max(weighted, std::abs(merge.out[i] - merge.weighted[i]));
    plain = std::max(plain, std::abs(merge.out[i] - added));
    scale = std::max({scale, std::abs(merge.out[i]), std::abs(merge.weighted[i]), std::abs(added)});
  }
  const int blocks = merge.blocks[row];
  // exp(block_lse − lse) is off by as much as lse is rounded; each merge rounds once more.
  constexpr double kRoom = 16;
  const double sums = rounding.of_sums * (blocks + std::abs(merge.lse[row]));
  const double limit = scale * (2 * rounding.of_out + kRoom * sums);
  ++c.rows;
  c.unlike_plain += !(plain <= limit);
  c.unlike_weighted += !(weighted <= 2 * limit);
  c.most_blocks = std::max(c.most_blocks, blocks);
  c.plain_error = std::max(c.plain_error, plain);
  c.scale = std::max(c.scale, scale);
  if (weighted <= c.weighted_error) return;
  c.weighted_error = weighted;
  c.worst_token = merge.tokens[row % merge.tokens.size()];
}

/// Of the rows of one rank, which merges by itself.
Comparison compare(const LayerMerge& merge, const std::vector<WorldRank>& owners, WorldRank rank,
                   Rounding rounding) {
  Comparison c;
  for (std::size_t row = 0; row < merge.blocks.size(); ++row)
    if (merge.blocks[row] > 1 && owners[row % merge.tokens.size()] == rank)
      compareRow(c, merge, row, rounding);
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
               " pieces a row within " + describeSignificant(c.plain_error, 2) +
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

/// One rank alone, with one piece at a time for each of its rows, has nothing to merge.
bool nothingIsMerged(const Trace& trace) {
  if (!trace.run() || trace.run()->cp > 1 || !trace.end()) return false;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    std::optional<Event> last;  // events are in the order in which rows were attended
    for (const Event& event : trace.events(WorldRank::of(rank))) {
      if (event.kind != EventKind::kAttend || event.place.direction != Direction::kForward)
        continue;
      if (last && last->place == event.place && event.piece != last->piece &&
          event.q_begin < last->q_end)
        return false;
      last = event;
    }
  }
  return true;
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
  std::optional<Place> neither;
  bool compared = false;
  for (const auto& [train_step, layer] : layersOf(trace))
    for (const auto& members : sequenceGroups(trace)) {
      const Place place{train_step, Layer::of(layer), Direction::kForward, {}};
      const auto merge = mergeLayer(trace, train_step, place.layer, members);
      if (!merge) continue;
      compared = true;
      const auto owners = ownersOf(trace, train_step, *merge, members);
      for (const WorldRank rank : members) {
        const Comparison c = compare(*merge, owners, rank, roundingOf(trace, place, rank));
        if (c.addsPlainly()) return found(finding(place, rank, c));
        if (c.isNeither() && !neither) neither = place;
      }
    }
  if (neither)
    return undecided("needs blocks that give the recorded out by one of the two sums; at " +
                     describe(*neither) + " they give it by neither");
  if (compared || nothingIsMerged(trace)) return clear();
  return notObservable("needs out, lse, block_out and block_lse of one layer");
}

}  // namespace ringscope::traces
