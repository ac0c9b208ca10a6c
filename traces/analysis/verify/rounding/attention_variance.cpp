// SPDX-License-Identifier: Apache-2.0
//
// Computes the expected size of an attention's rounding errors, row by row, in units of u².
//
// u is the unit roundoff of sums: fp32, or fp64 for fp64 runs. s is the unit roundoff of the stored
// type. Both are multiplied by 0.41, the root mean square of a rounding error relative to the
// number. This holds for errors uniform over half a unit in the last place, and numbers uniform in
// their logarithm. Errors count as independent, so their squares add (Higham and Mary 2019, "A New
// Approach to Probabilistic Rounding Error Analysis"). |q| and |k| are 2-norms, and σ =
// scale·|q|·|k|.
//
// Weights. A score is off by u·σ. The exponential and the rounding of its argument add e, so the
// relative error of a weight has the square e² + u²σ². e is u. In types narrower than fp32 it is up
// to kQuickExp, because the CPU kernel takes a quick exponential (ATen's fexp_u20). A wrong weight
// moves out by at most p(1 − p)·v, because the weights of a row add up to 1.
//
// Tensors. Each error has a part from storing and a part from the weights.
//
//   out    storing  (s² + u²)(|out|² + Σp²|v|²)
//          weights  Σp²(1 − p)(e² + u²σ²)|v|²
//          sinks    2·0.41²u²(1 + lse²)|out|²
//   lse    u²(1 + lse²) + u²Σp²(1 + σ²), at most e
//   delta  u²|dout|²|out|² / 8
//   dq     storing  scale²(s² + u²)Σ(dS·k)² + s²|dq|²
//          weights  scale²(Σ(e² + u²σ²)(dS·k)² + η²Σp²|k|² + Δdelta²·|Σp·k|²) + Δlse²|dq|²
//   dv     storing  (s² + u²)Σp²|dout|² + s²|dv|²
//          weights  Σ(Δlse² + e² + u²σ²)p²|dout|²
//   dk     storing  scale²(s² + u²)Σ(dS·q)² + s²|dk|²
//          weights  scale²(Σ(Δlse² + e² + u²σ²)(dS·q)² + Σp²(η² + Δdelta²)|q|²)
//
// η² is u²|dout|²max|v|² / 8. delta is a dot product of D terms in eight lanes. An element of P or
// dS that underflows in its type adds one rounding of fixed size per pair.
//
// Sums. Each addition rounds the partial sum of that moment. running_sums.h gives the squares of
// all partial sums, times 0.41²u² in out, dq, dk and dv. The dS of a row add up to 0, but their
// partial sums do not, and show the mean of the keys.
//
// Tiles. The CPU's flash kernel stores dq, dk and dv after each tile. tile_roundings.h gives the
// error for terms of any direction. Terms of one direction make sums that grow with their number.
//
// Blocks. If a rank attends its keys in blocks, it stores out and dq of each block and of each
// merged result. Storing the blocks adds Σw²s²|out_b|² for blocks b of weight w. This is as much as
// storing out when one block has nearly all weight.
//
// Merges. After a merge, later merges leave a share S of the running result in the end, and that
// share of its errors. Each merge (merge.cpp) adds these errors:
//
//   lse      The running lse is rounded, which adds Σ S²·0.41²u²(1 + lse²) over all merges, and as
//            much once for the lse of the blocks. A wrong running lse moves weight between earlier
//            and later blocks: S(1 − S)·Σp²(1 − p)|v|² of out for terms of any direction. Errors of
//            the blocks' lse move at most Σp²(1 − p)|v|². A single merge counts twice.
//   weights  The sum of both weights lies between 1 and 2 and is off by u/√3. The larger quotient
//            is off by u/(2√3). Together their error has the square 5u²/12 and scales the partial
//            result. It is an exact bound and no mean, so 6 times its root is enough, not 8.
//
//   out      The product and the sum are each off by 0.41·u of each element of the partial result.
//
// The square of the partial result is S²|out|² + S(1 − S)·Σp²|v|². Terms of one direction grow
// with S, others with its root. Σ S² is n/3 for n blocks of equal weight, and up to n if the first
// block has nearly all weight. The header merged_blocks.h computes it from the weights of the row.
//
// Backward. P is off by the errors of the lse. dq, dk and dv are sums of n parts more. Each partial
// sum is off by 0.41·u. Its square is at most that of the end and a quarter of that of the terms.
// If the exact backward begins with the exact out, the run's error of out also moves delta. Its
// direction is arbitrary, so Δdelta² grows by |dout|²Δout² / D.
#include "traces/analysis/verify/rounding/attention_variance.h"

#include <algorithm>
#include <cmath>

#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/analysis/verify/rounding/running_sums.h"
#include "traces/analysis/verify/rounding/tile_roundings.h"
#include "traces/plan/cpu_kernel.h"

namespace ringscope::traces {
namespace {

constexpr double kRms = 0.41, kRms2 = kRms * kRms;
constexpr double kLanes = 8;
/// In fp64 the exact results are rounded too, and sum in another order.
constexpr double kBothInFp64 = 2.5;
/// The errors of a merge's weights are limited to 6 of their root mean squares, others to 8.
constexpr double kWeights = 5.0 / 12 * (6.0 / 8) * (6.0 / 8);
/// The relative error of the quick exponential: at most 1.04e-4, measured over arguments from 0 to
/// -3 and 2 to 513 keys.
constexpr double kQuickExp = 1.1e-4;

double square(double x) {
  return x * x;
}

double sumOfSquares(std::span<const double> row) {
  double squares = 0;
  for (const double value : row) squares += value * value;
  return squares;
}

/// Returns 1 + the square of an lse, which is −inf without a key.
double lseSquare(double lse) {
  return std::isinf(lse) ? 1 : 1 + square(lse);
}

}  // namespace

std::vector<double> rowSquares(std::span<const double> values, std::int64_t width) {
  const auto size = static_cast<std::size_t>(width);
  std::vector<double> squares;
  squares.reserve(values.size() / size);
  for (std::size_t at = 0; at < values.size(); at += size)
    squares.push_back(sumOfSquares(values.subspan(at, size)));
  return squares;
}

VarianceSums::VarianceSums(RoundedAttention attention)
    : in_(std::move(attention)),
      narrow_(isNarrow(in_.dtype)),
      unit_(square(in_.dtype == DType::kFloat64 ? kBothInFp64 * unitRoundoff(in_.dtype)
                                                : unitRoundoff(DType::kFloat32))),
      stored_(kRms2 * square(unitRoundoff(in_.dtype)) / unit_),
      tiny_(square(halfOfSmallest(in_.dtype)) / unit_),
      exp_(narrow_ ? square(kQuickExp / 2) / unit_ : 1),
      scale2_(square(in_.scale)),
      group_(static_cast<double>(in_.heads) / static_cast<double>(in_.kv_heads)),
      queries_(in_.q2.size()),
      keys_(in_.dout2.empty() ? 0 : in_.k2.size()) {
  for (auto head = in_.v2.begin(); head != in_.v2.end(); head += std::ssize(in_.v2) / in_.kv_heads)
    most_v2_.push_back(*std::max_element(head, head + std::ssize(in_.v2) / in_.kv_heads));
}

bool VarianceSums::visit(const RoundedRow& row) {
  if (row.weights.empty()) return false;  // nothing is computed, so nothing is rounded
  const std::size_t first =
      row.head / static_cast<std::size_t>(group_) * in_.keys() + row.first_key;
  const std::size_t index = row.head * in_.rows() + row.row;
  const OverKeys sums = overKeys(row, first);
  QueryRow& query = queries_[index];
  forward(row, first, sums, in_.q2[index], query);
  const bool stored = storedOutIsRight(row, query);
  if (!in_.dout2.empty()) backward(row, first, sums, !stored, query);
  return stored;
}

bool VarianceSums::storedOutIsRight(const RoundedRow& row, const QueryRow& query) const {
  double squares = 0;
  for (std::size_t d = 0; d < row.stored_out.size(); ++d)
    squares += square(row.stored_out[d] - row.out[d]);
  return !row.stored_out.empty() &&
         std::sqrt(squares / unit_) <= rowLimit(query.out, 0, in_.head_dim);
}

VarianceSums::OverKeys VarianceSums::overKeys(const RoundedRow& row, std::size_t first) const {
  OverKeys sums;
  const double *all_k2 = in_.k2.data() + first, *all_v2 = in_.v2.data() + first;
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    const double p = row.weights[j], p2 = p * p, k2 = all_k2[j], v2 = all_v2[j];
    const double moved_v2 = p2 * std::max(0.0, 1 - p) * v2;
    sums.p2 += p2;
    sums.p2_v2 += p2 * v2;
    sums.p2_k2 += p2 * k2;
    sums.moved_v2 += moved_v2;
    sums.moved_kv2 += moved_v2 * k2;
    sums.v2 += v2;
    sums.k2 += k2;
  }
  for (std::size_t j = 0; j < row.dscores.size(); ++j) {
    const double of_key = square(row.dscores[j]) * all_k2[j];
    sums.ds2_k2 += of_key;
    sums.ds2_k4 += of_key * all_k2[j];
  }
  return sums;
}

void VarianceSums::forward(const RoundedRow& row, std::size_t first, const OverKeys& sums,
                           double q2, QueryRow& query) const {
  const double out2 = sumOfSquares(row.out), score2 = scale2_ * q2, lse2 = lseSquare(row.lse);
  const auto [squares, mixed] = in_.blocks.sumsOver(row.row, row.first_key, row.weights);
  query.keys = static_cast<double>(row.weights.size());
  query.merged = kRms2 * lse2 * squares;
  const RunningSums running =
      sumTerms(in_.blocks, row.first_key, row.weights, in_.v2.data() + first);
  const double mean2 =
      running.total > 0 ? std::max(0.0, out2 - sums.p2_v2) / square(running.total) : 0;
  // Kernels store each block's out in the type, before blocks become one.
  query.out.spread = out2 + kRms2 * running.sizes(mean2) +
                     (narrow_ ? 2 : 1) * storingSquare(row.out, in_.dtype) / unit_;
  query.out.terms = (stored_ + 1) * sums.p2_v2 + tiny_ * sums.v2;
  query.out.single = exp_ * sums.moved_v2 + score2 * sums.moved_kv2 +
                     (in_.has_sinks ? 2 * kRms2 * lse2 * out2 : 0);
  query.out.merging =
      std::max(2.0, 1 + mixed) * kRms2 * lse2 * sums.moved_v2 + kWeights * squares * out2;
  query.out.adding = 2 * kRms2 * (squares * out2 + mixed * sums.p2_v2);
  query.lse.single = lse2 + sums.p2 + score2 * sums.p2_k2;
  // Summing weights is off by u/√3 each time, which the logarithm passes on.
  query.lse.merging = query.merged + kRms2 * lse2 + (squares - 1) / 3;
}

void VarianceSums::backward(const RoundedRow& row, std::size_t first, const OverKeys& sums,
                            bool exact_delta, QueryRow& query) {
  const std::size_t index = row.head * in_.rows() + row.row;
  const double q2 = in_.q2[index], dout2 = in_.dout2[index], score2 = scale2_ * q2,
               lse = exp_ + query.lse.single, merged = query.merged;
  const RowVariance& out = query.out;
  const double eta2 = dout2 * most_v2_[row.head / static_cast<std::size_t>(group_)] / kLanes;
  double delta2 = dout2 * sumOfSquares(row.out) / kLanes;
  if (exact_delta)
    delta2 += dout2 * (out.spread + out.terms + out.single + out.merging + out.adding) /
              static_cast<double>(in_.head_dim);
  query.dq.tiles = narrow_ ? scale2_ * stored_ * keyTileRoundings(query.keys) * sums.ds2_k2 : 0;
  query.dq.terms = scale2_ * ((stored_ + 1) * sums.ds2_k2 + tiny_ * sums.k2);
  query.dq.single = scale2_ * (exp_ * sums.ds2_k2 + score2 * sums.ds2_k4 + eta2 * sums.p2_k2 +
                               delta2 * row.mean_key2);
  query.dq.adding = scale2_ * sums.ds2_k2 / 4;
  const RunningSums running =
      sumTerms(in_.blocks, row.first_key, row.dscores, in_.k2.data() + first);
  query.dq.spread = scale2_ * kRms2 * running.sizes(row.mean_key2);
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    const double of_weight = square(row.weights[j]) * dout2, of_score = square(row.dscores[j]) * q2,
                 weight2 = lse + in_.k2[first + j] * score2;
    OverRows& key = keys_[first + j];
    key.dv += of_weight;
    key.dv_single += of_weight * weight2;
    key.dv_merging += of_weight * merged;
    key.dk += of_score;
    key.dk_single += of_score * weight2 + square(row.weights[j]) * (eta2 + delta2) * q2;
    key.dk_merging += of_score * merged;
    key.dout2 += dout2;
    key.q2 += q2;
    key.rows += 1;
  }
}

AttentionVariance VarianceSums::finish(const ExactGradients& exact) const {
  AttentionVariance all;
  if (narrow_) all.lse.bounded = kQuickExp;
  finishQueries(exact, all);
  if (!keys_.empty()) finishKeys(exact, all);
  const auto scale = [this](TensorVariance& tensor) {
    for (RowVariance& row : tensor.rows)
      for (double* square :
           {&row.spread, &row.terms, &row.single, &row.merging, &row.tiles, &row.adding})
        *square *= unit_;
  };
  for (TensorVariance* tensor : {&all.out, &all.lse, &all.dq, &all.dk, &all.dv}) scale(*tensor);
  return all;
}

void VarianceSums::finishQueries(const ExactGradients& exact, AttentionVariance& all) const {
  const auto width = static_cast<std::size_t>(in_.head_dim);
  for (std::size_t i = 0; i < queries_.size(); ++i) {
    const QueryRow& query = queries_[i];
    all.out.rows.push_back(query.out);
    all.lse.rows.push_back(query.lse);
    if (keys_.empty()) continue;
    RowVariance dq = query.dq;
    const auto row = exact.dq.subspan(i * width, width);
    const double end = sumOfSquares(row);
    const double times = narrow_ ? std::max(3.0, 1 + 4.0 / 3 * keyTileRoundings(query.keys)) : 1;
    dq.single += query.lse.single * end;
    dq.merging += query.merged * end;
    dq.spread += dq.tiles + kRms2 * runningGrowth(query.keys, kLongestRun).sizes(end, 0) +
                 times * storingSquare(row, in_.dtype) / unit_;
    dq.adding = kRms2 * std::max(0.0, in_.blocks.row_parts[i % in_.rows()] - 1) * (end + dq.adding);
    all.dq.rows.push_back(dq);
  }
}

void VarianceSums::finishKeys(const ExactGradients& exact, AttentionVariance& all) const {
  const auto width = static_cast<std::size_t>(in_.head_dim);
  const auto gradient = [&](std::span<const double> row, double squares, double tiny, double single,
                            double merging, const OverRows& key, double parts) {
    const double roundings = narrow_ ? queryTileRoundings(key.rows / group_, group_) : 0;
    // Heads of a group are stored one by one before they add up. If all terms have one direction,
    // n/3 + 1/2 times the square of storing the end is added. If the first heads of a group go
    // further than all heads together, twice as much is added.
    const double times = std::max(1 + 4.0 / 3 * roundings, group_ > 1 ? 2.0 : 1.0);
    const double end = sumOfSquares(row);
    const auto run = static_cast<double>(kRowTiles.back().rows);
    RowVariance result;
    result.tiles = stored_ * roundings * squares;
    result.spread = result.tiles + kRms2 * runningGrowth(key.rows, run).sizes(end, squares) +
                    times * storingSquare(row, in_.dtype) / unit_;
    result.terms = (stored_ + 1) * squares + tiny_ * tiny;
    result.single = single;
    result.merging = merging;
    result.adding = kRms2 * std::max(0.0, parts - 1) * (end + squares / 4);
    return result;
  };
  for (std::size_t j = 0; j < keys_.size(); ++j) {
    const OverRows& key = keys_[j];
    const double parts = in_.blocks.key_parts[j % in_.keys()];
    all.dk.rows.push_back(gradient(exact.dk.subspan(j * width, width), scale2_ * key.dk,
                                   scale2_ * key.q2, scale2_ * key.dk_single,
                                   scale2_ * key.dk_merging, key, parts));
    all.dv.rows.push_back(gradient(exact.dv.subspan(j * width, width), key.dv, key.dout2,
                                   key.dv_single, key.dv_merging, key, parts));
  }
}

}  // namespace ringscope::traces
