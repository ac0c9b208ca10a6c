// SPDX-License-Identifier: Apache-2.0
// Merges: how the results of blocks become one.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "traces/analysis/doctor/merge_reading.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/sixteen_bits.h"
#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/layer_merge.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {

// naive_sum_merge: the recorded out is the plain sum of the recorded blocks in fp64, and not the
// one with log-sum-exp weights.
namespace {

/// How far a sum may be from the recorded out, as a share of the row's largest value.
struct Rounding {
  double of_out, of_sums;
};

Rounding mergeRounding(const Trace& trace, const Place& place, WorldRank rank) {
  const auto unit = [&](TensorKind kind) {
    const TensorRecord* tensor = trace.findTensor({kind}, place, rank);
    return tensor ? unitRoundoff(tensor->dtype) : 0;
  };
  return {unit(TensorKind::kOut), unit(TensorKind::kLse)};
}

/// The rows of one rank into which several blocks were merged, compared with both sums.
struct SumComparison {
  int rows = 0, unlike_weighted = 0, unlike_plain = 0;
  double weighted_error = 0, plain_error = 0, scale = 0;
  int most_blocks = 0;
  TokenIndex worst_token;

  /// Reports whether all rows are plain sums, and some cannot be weighted ones.
  bool addsPlainly() const { return unlike_weighted > 0 && unlike_plain == 0; }
  /// Reports whether some rows are not plain sums, and some not weighted ones.
  bool isNeither() const { return unlike_weighted > 0 && unlike_plain > 0; }
};

/// Adds one row to a comparison.
void compareRow(SumComparison& c, const LayerMerge& merge, std::size_t row, Rounding rounding) {
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

/// Compares the rows of one rank, which merges by itself.
SumComparison compareSums(const LayerMerge& merge, const std::vector<WorldRank>& owners,
                          WorldRank rank, Rounding rounding) {
  SumComparison c;
  for (std::size_t row = 0; row < merge.blocks.size(); ++row)
    if (merge.blocks[row] > 1 && owners[row % merge.tokens.size()] == rank)
      compareRow(c, merge, row, rounding);
  return c;
}

Finding naiveSumMergeFinding(const Place& place, WorldRank owner, const SumComparison& c) {
  return {.confidence =
              c.plain_error < 1e-3 * c.weighted_error ? Confidence::kCertain : Confidence::kLikely,
          .title = "Block outputs are added without their log-sum-exp weights",
          .place = place,
          .rank = owner,
          .buffer = "out",
          .evidence = "The recorded out equals the plain sum of up to " +
                      std::to_string(c.most_blocks) + " pieces a row within " +
                      describeSignificant(c.plain_error, 2) +
                      "; from the sum weighted by exp(block_lse − lse) it differs by " +
                      describeSignificant(c.weighted_error, 2) + " at token " +
                      describeCount(c.worst_token.value()) + ", where out's largest value is " +
                      describeSignificant(c.scale, 2) + ".",
          .remedy =
              "Each block's out is normalised by its own sum. Merge with m = max(lse, block_lse), "
              "lse' = m + log(exp(lse − m) + exp(block_lse − m)), out' = exp(lse − lse')·out + "
              "exp(block_lse − lse')·block_out, in fp32."};
}

/// Returns the owner of each token of a merge.
std::vector<WorldRank> tokenOwners(const Trace& trace, std::int32_t train_step,
                                   const LayerMerge& merge, const std::vector<WorldRank>& members) {
  std::vector<WorldRank> owners(merge.tokens.size());
  const auto index = [&](std::int64_t token) {
    return std::ranges::lower_bound(merge.tokens, TokenIndex::of(token)) - merge.tokens.begin();
  };
  for (const ShardRecord& shard : trace.shards())
    if (shard.train_step == train_step &&
        std::find(members.begin(), members.end(), shard.rank) != members.end())
      for (const TokenRun& run : shard.global_from_local)
        std::fill(owners.begin() + index(run.begin), owners.begin() + index(run.end), shard.rank);
  return owners;
}

/// Reports whether a single rank attends each of its rows in one piece, so that nothing is merged.
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

/// Returns every (training step, layer) that recorded an out.
std::set<std::pair<std::int32_t, std::int32_t>> layersWithOut(const Trace& trace) {
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
  for (const auto& [train_step, layer] : layersWithOut(trace))
    for (const auto& members : sequenceGroups(trace)) {
      const Place place{train_step, Layer::of(layer), Direction::kForward, {}};
      const auto merge = mergeLayer(trace, train_step, place.layer, members);
      if (!merge) continue;
      compared = true;
      const auto owners = tokenOwners(trace, train_step, *merge, members);
      for (const WorldRank rank : members) {
        const SumComparison c =
            compareSums(*merge, owners, rank, mergeRounding(trace, place, rank));
        if (c.addsPlainly()) return found(naiveSumMergeFinding(place, rank, c));
        if (c.isNeither() && !neither) neither = place;
      }
    }
  if (neither)
    return undecided("needs blocks that give the recorded out by one of the two sums; at " +
                     describe(*neither) + " they give it by neither");
  if (compared || nothingIsMerged(trace)) return clear();
  return notObservable("needs out, lse, block_out and block_lse of one layer");
}

// lse_overflow: blocks whose lse is finite, or −inf for a row without a key, never make NaN or
// +inf, and a row that has keys never becomes −inf.
namespace {

/// The numbers above which exp of a type overflows, and below which it loses digits and becomes 0.
struct ExpRange {
  const char* type;
  double infinite, smallest;
  const char* zero;
};

ExpRange expRange(const TensorRecord& running) {
  if (running.dtype == DType::kFloat64) return {"double", 709, -708, "−745"};
  return {"float", 88, -87, "−103"};
}

Finding lseOverflowFinding(const MergeReading& judged) {
  const ExpRange limits = expRange(*judged.made);
  const bool of_out = judged.is == MergeIs::kOutNotANumber;
  const bool wide = !of_out && (!judged.rows_without_keys || judged.largest > limits.infinite ||
                                judged.smallest < limits.smallest);
  const std::string buffer = of_out ? "out" : "running_lse";
  const char* becomes = judged.is == MergeIs::kLost       ? "−inf in a row that has keys"
                        : judged.is == MergeIs::kInfinite ? "+inf"
                                                          : "NaN";
  return {
      .confidence = wide ? Confidence::kCertain : Confidence::kLikely,
      .title = wide ? "The merge of blocks overflows" : "The merge makes NaN of rows without a key",
      .place = judged.made->place,
      .rank = judged.made->rank,
      .buffer = buffer,
      .evidence =
          buffer + " is " + becomes + ", though " +
          (of_out ? "every block_out is finite, and " : "") + "every block_lse up to there " +
          (judged.rows_without_keys ? "is −inf, for rows without a key, or" : "is") + " from " +
          describeSignificant(judged.smallest, 3) + " to " +
          describeSignificant(judged.largest, 3) +
          (wide
               ? std::string(": exp of a ") + limits.type + " is infinite above " +
                     describeSignificant(limits.infinite, 3) + " and 0 below " + limits.zero + "."
               : ": log(exp(lse) + exp(block_lse)) is −inf where both are, and the weights 0 / 0."),
      .remedy =
          "Take out the larger one before exp: m = max(lse, block_lse), lse' = m + log(exp(lse − "
          "m) + exp(block_lse − m)), and leave a row as it is where block_lse is −inf."};
}

}  // namespace

RuleResult checkLseOverflow(const Readings& readings) {
  const MergeReading& merges = readings.merges();
  if (merges.isWrong()) return found(lseOverflowFinding(merges));
  if (merges.is == MergeIs::kRight) return clear();
  return notObservable(
      "needs the values of block_lse and running_lse, whose rows without a key are infinite by "
      "right");
}

// lse_low_precision: the running lse of fp32 has more significant bits than a type of 16 bits. When
// all values of a rank fit into such a type, the lse was kept in it.
namespace {

/// The running lse of one rank in one layer; only values that are finite and not 0.
struct KeptLse {
  const TensorRecord* first = nullptr;
  std::set<double> values;
  bool fits_bfloat16 = true;
  int tensors = 0;
};

/// One number in 2^16 is a bfloat16 by chance; so many different numbers are not.
constexpr std::size_t kEnough = 4;

Finding lseLowPrecisionFinding(const TensorRecord& lse, const std::string& evidence) {
  return {.title = "The running log-sum-exp is kept in a type of 16 bits",
          .place = lse.place,
          .rank = lse.rank,
          .buffer = "running_lse",
          .evidence = evidence,
          .remedy =
              "Keep the running out and lse in fp32 from the first block to the last, whatever the "
              "type of q, k and v, and round out once, after the last merge."};
}

}  // namespace

RuleResult checkLseLowPrecision(const Trace& trace) {
  std::map<std::tuple<std::int32_t, Layer, WorldRank>, KeptLse> layers;
  for (const TensorRecord& lse : trace.tensors()) {
    if (lse.tensor.kind != TensorKind::kRunningLse) continue;
    if (isNarrow(lse.dtype))
      return found(
          lseLowPrecisionFinding(lse, std::string("running_lse is recorded as ") + name(lse.dtype) +
                                          ", so each merge loses all but its first bits."));
    KeptLse& kept = layers[{lse.place.train_step, lse.place.layer, lse.rank}];
    if (!kept.first) kept.first = &lse;
    if (!kept.fits_bfloat16) continue;
    const auto values = trace.values(lse);
    if (!values) continue;
    ++kept.tensors;
    for (const double value : *values) {
      if (!std::isfinite(value) || value == 0) continue;
      kept.fits_bfloat16 = kept.fits_bfloat16 && isBFloat16(value);
      if (kept.values.size() < kEnough) kept.values.insert(value);
    }
  }
  bool precise = false;
  const KeptLse* few = nullptr;
  for (const auto& [at, kept] : layers) {
    precise = precise || !kept.fits_bfloat16;
    if (!kept.fits_bfloat16 || kept.tensors == 0) continue;
    if (kept.values.size() < kEnough)
      few = &kept;
    else
      return found(lseLowPrecisionFinding(
          *kept.first, "Every value of running_lse after " + describeCount(kept.tensors, "block") +
                           " of this layer is one that bfloat16 has, though the type is " +
                           name(kept.first->dtype) +
                           ": it was rounded to bfloat16 between merges."));
  }
  if (few && !precise)
    return undecided("needs more different values of running_lse than the " +
                     std::to_string(few->values.size()) + " that a rank has");
  return precise ? clear() : notObservable("needs the values of running_lse");
}

}  // namespace ringscope::traces
