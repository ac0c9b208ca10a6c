// SPDX-License-Identifier: Apache-2.0
//
// How large the rounding errors of an attention are to be expected, row by row.
//
// u is the unit roundoff of sums (fp32, or fp64 for fp64 runs), s that of the type in which tensors
// are stored, times 0.41, which is the root mean square of a rounding error relative to the number
// (uniform over half a unit in the last place, numbers uniform in their logarithm). All errors are
// taken as independent (Higham and Mary 2019, "A New Approach to Probabilistic Rounding Error
// Analysis"), so their squares add. Sizes |q|, |k| are 2-norms, σ = scale·|q|·|k|.
//
// A score is off by u·σ, and the exponential and its argument's rounding add e: a weight's relative
// error has the square e² + u²σ². e is u, but in types narrower than fp32, whose CPU kernel takes a
// quick exponential (ATen's fexp_u20), up to kQuickExp. It moves out by p(1 − p)·v at most, since
// the weights of a row add up to 1.
//   out    storing, P and out: (s² + u²)(|out|² + Σp²|v|²); weights: Σp²(1 − p)(e² + u²σ²)|v|²
//          with a sink, whose lse scales the row, 2·0.41²u²(1 + lse²)|out|² more
//   lse    u²(1 + lse²) + u²Σp²(1 + σ²), and at most e
//   delta  u²|dout|²|out|² / 8: a dot product of D terms in eight lanes, of the out that was stored
//   dq     storing, dS and dq: scale²(s² + u²)Σ(dS·k)² + s²|dq|²; weights:
//          scale²(Σ(e² + u²σ²)(dS·k)² + η²Σp²|k|² + Δdelta²·|Σp·k|²) + Δlse²|dq|²,
//          η² = u²|dout|²max|v|² / 8
//   dv     storing: (s² + u²)Σp²|dout|² + s²|dv|²; weights: Σ(Δlse² + e² + u²σ²)p²|dout|²
//   dk     storing: scale²(s² + u²)Σ(dS·q)² + s²|dk|²; weights:
//          scale²(Σ(Δlse² + e² + u²σ²)(dS·q)² + Σp²(η² + Δdelta²)|q|²)
// What underflows in the type of P and dS is one more rounding of fixed size a pair.
//
// The CPU's flash kernel stores dq, dk and dv after each tile: tile_roundings.h has it for terms of
// any direction, which are not the end's. Terms of one direction make sums that grow with their
// number. Where a rank attends its keys in blocks, out and dq of each are stored, and once more
// what they become. Of block b with the weight w that is Σw²s²|out_b|², as much as storing out
// where one block has nearly all weight.
//
// Merging a block into a row's running result leaves a share S of the row's final weight behind,
// and every error so far goes on into the end by that share. Of each merge (merge.cpp):
//   lse      rounded to 0.41·u·lse, so Σ S²·0.41²u²(1 + lse²) in all, and as much once for the
//            blocks' own. A running lse that is off moves weight between what was merged before
//            and what follows, which is S(1 − S)·Σp²(1 − p)|v|² of out for terms of any direction;
//            the blocks' own errors move Σp²(1 − p)|v|² at most. A single merge counts twice that.
//   weights  their sum lies between 1 and 2 and is off by u/√3, the larger quotient by u/(2√3): the
//            two weights together are off by the square 5u²/12, which scales the partial result. As
//            these are exact and not means over numbers, 6 times their root is enough, not 8.
//   out      product and sum, 0.41·u of each element of the partial result, each.
// The partial result's square is S²|out|² + S(1 − S)·Σp²|v|²: terms of one direction grow as S
// does, others as its root. Σ S² is n/3 for n blocks of one weight and up to n where the first
// block has nearly all of it; merged_blocks.h takes it from the row's weights.
// P of the backward pass is off by the errors of the lse. dq, dk and dv are sums of n parts more,
// 0.41·u of each partial sum, of which the square is at most that of the end and a quarter of that
// of the terms.
//
// All of it is computed in units of u² and of max|dout|, so that fp32 holds it.
#include "engine/verify/rounding_variance.h"

#include <ATen/ATen.h>

#include <cmath>

#include "engine/verify/error_measure.h"
#include "engine/verify/pair_sizes.h"
#include "engine/verify/storing_error.h"
#include "engine/verify/tile_roundings.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kRowsAtOnce = 256;
constexpr double kRms = 0.41;
constexpr double kLanes = 8;
/// What a merge's weights are off by, held to 6 of their root mean squares where others have 8.
constexpr double kWeights = 5.0 / 12 * (6.0 / 8) * (6.0 / 8);
/// The relative error of the quick exponential: at most 1.04e-4, measured over arguments from 0 to
/// -3 and 2 to 513 keys.
constexpr double kQuickExp = 1.1e-4;

/// [B, H, rows, keys] times the columns [B, H, keys] as one product; a tensor [B, H, rows] each.
std::vector<at::Tensor> weighted(const at::Tensor& matrix, const std::vector<at::Tensor>& columns) {
  return at::matmul(matrix, at::stack(columns, -1)).unbind(-1);
}

/// Adds to sums over query rows, which keys have: [B, H, keys] each.
void addTo(std::vector<at::Tensor>& sums, const std::vector<at::Tensor>& parts) {
  sums.resize(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    sums[i] = sums[i].defined() ? sums[i] + parts[i] : parts[i].to(at::kDouble);
}

/// In units of u², and of max|dout|² where that matters.
class Sums {
 public:
  Sums(const AttentionSizes& in, bool in_tiles, double stored, double tiny, double exp)
      : in_(in),
        in_tiles_(in_tiles),
        stored_(stored),
        tiny_(tiny),
        exp_(exp),
        sink_(in.has_sinks ? 2 * kRms * kRms : 0),
        tiny_gradient_(tiny / (in.dout_size * in.dout_size)) {}

  void add(std::int64_t row, std::int64_t rows) {
    const auto part = [&](const at::Tensor& t) { return t.slice(2, row, row + rows); };
    const PairSizes pairs(in_, row, rows);
    const at::Tensor lse = part(in_.lse), q2 = rowSquares(part(in_.q)),
                     d2 = rowSquares(part(in_.dout)), o2 = rowSquares(part(in_.out)),
                     score2 = in_.scale2 * q2,
                     lse2 = 1 + at::square(lse.masked_fill(at::isinf(lse), 0));
    const auto of_p = weighted(pairs.p2, {in_.v2, in_.k2, at::ones_like(in_.k2)}),
               of_moved = weighted(pairs.moved, {in_.v2, in_.k2 * in_.v2}),
               of_ds = weighted(pairs.ds2, {in_.k2, in_.k2 * in_.k2}),
               of_pairs = weighted(pairs.allowed, {in_.v2, in_.k2, at::ones_like(in_.k2)});
    const auto& [squares, mixed] = pairs.merges;
    RowVariance of_out{
        o2, (stored_ + 1) * of_p[0] + tiny_ * of_pairs[0],
        exp_ * of_moved[0] + score2 * of_moved[1] + sink_ * lse2 * o2,
        (1 + mixed).clamp_min(2) * kRms * kRms * lse2 * of_moved[0] + kWeights * squares * o2};
    of_out.adding = 2 * kRms * kRms * (squares * o2 + mixed * of_p[0]);
    const at::Tensor lse_error = lse2 + of_p[2] + score2 * of_p[1],
                     merged = kRms * kRms * lse2 * squares;
    const at::Tensor eta2 = d2 * in_.v2.amax(-1, true) / kLanes, delta2 = d2 * o2 / kLanes;
    out.push_back(of_out);
    const at::Tensor none = at::zeros_like(lse_error);
    // Summing weights is off by u/√3 each time, which the logarithm passes on.
    lse_rows.push_back(
        {none, none, lse_error, merged + kRms * kRms * lse2 + (squares - 1) / 3, {}, 0, none});
    merged_rows.push_back(merged);
    const at::Tensor dq_tiles = in_.scale2 * ofTiles(of_ds[0], keyTileRoundings(of_pairs[2]));
    keys_.push_back(of_pairs[2]);
    dq.push_back({dq_tiles, in_.scale2 * ((stored_ + 1) * of_ds[0] + tiny_gradient_ * of_pairs[1]),
                  in_.scale2 * (exp_ * of_ds[0] + score2 * of_ds[1] + eta2 * of_p[1] +
                                delta2 * pairs.mean_key2),
                  none, dq_tiles, 0, in_.scale2 * of_ds[0] / 4});
    addTo(p_, weighted(pairs.p2.transpose(-1, -2),
                       {d2, d2 * lse_error, d2 * score2, d2 * merged, (eta2 + delta2) * q2}));
    addTo(ds_,
          weighted(pairs.ds2.transpose(-1, -2), {q2, q2 * lse_error, q2 * score2, q2 * merged}));
    addTo(pairs_, weighted(pairs.allowed.transpose(-1, -2), {d2, q2, at::ones_like(d2)}));
  }

  /// After all rows, as [B, Hq, keys].
  RowVariance ofDk() const {
    const at::Tensor tiles = in_.scale2 * ofTiles(ds_[0], queryTileRoundings(pairs_[2], in_.group));
    return {tiles,
            in_.scale2 * ((stored_ + 1) * ds_[0] + tiny_gradient_ * pairs_[1]),
            in_.scale2 * (exp_ * ds_[0] + ds_[1] + in_.k2 * ds_[2] + p_[4]),
            in_.scale2 * ds_[3],
            tiles,
            0,
            in_.scale2 * ds_[0] / 4};
  }
  RowVariance ofDv() const {
    const at::Tensor tiles = ofTiles(p_[0], queryTileRoundings(pairs_[2], in_.group));
    return {tiles,
            (stored_ + 1) * p_[0] + tiny_ * pairs_[0],
            exp_ * p_[0] + p_[1] + in_.k2 * p_[2],
            p_[3],
            tiles,
            0,
            p_[0] / 4};
  }

  /// How often a sum over tiles of query rows is stored, [B, Hkv, keys], and over tiles of keys,
  /// [B, Hq, S], each time by what has come together until then.
  at::Tensor queryTimes() const {
    const at::Tensor times = timesStored(queryTileRoundings(pairs_[2], in_.group));
    return times.unflatten(1, {-1, static_cast<std::int64_t>(in_.group)}).amax(2);
  }
  at::Tensor keyTimes() const {
    return timesStored(keyTileRoundings(at::cat(keys_, 2))).clamp_min(in_tiles_ ? 3 : 1);
  }

  std::vector<RowVariance> out, lse_rows, dq;  ///< by block of rows
  std::vector<at::Tensor> merged_rows;         ///< what merging adds to the lse, likewise

 private:
  /// Of a sum whose terms have one direction, n/3 + 1/2 times the square of storing its end; twice
  /// that where the first heads of a group go further than all of them together.
  at::Tensor timesStored(const at::Tensor& roundings) const {
    return 1 + (in_tiles_ ? 4.0 / 3 : 0) * roundings.to(at::kDouble);
  }

  /// What tiles add to a sum whose terms have these squares in all.
  at::Tensor ofTiles(const at::Tensor& squares, const at::Tensor& roundings) const {
    return in_tiles_ ? stored_ * roundings * squares : at::zeros_like(squares);
  }

  const AttentionSizes& in_;
  bool in_tiles_;
  double stored_, tiny_, exp_, sink_;
  double tiny_gradient_;                    ///< of dS, which has the unit of dout
  std::vector<at::Tensor> p_, ds_, pairs_;  ///< sums over query rows
  std::vector<at::Tensor> keys_;            ///< that each row sees, by block of rows
};

/// Every part changed alike, in fp64.
template <typename Change>
RowVariance changed(const RowVariance& v, Change change) {
  return {change(v.spread.to(at::kDouble)),
          change(v.terms.to(at::kDouble)),
          change(v.single.to(at::kDouble)),
          change(v.merging.to(at::kDouble)),
          v.tiles.defined() ? change(v.tiles.to(at::kDouble)) : v.tiles,
          v.bounded,
          v.adding.defined() ? change(v.adding.to(at::kDouble)) : v.adding};
}

/// Of all rows, in other units.
RowVariance ofRows(const std::vector<RowVariance>& blocks, double unit) {
  return changed(joined(blocks, 2), [unit](const at::Tensor& t) { return t * unit; });
}

/// Where a gradient is a sum of so many parts; `adding` holds a quarter of the terms' squares.
void countParts(RowVariance& v, const at::Tensor& exact, const at::Tensor& parts, double unit) {
  const at::Tensor end = rowSquares(exact.cpu().to(at::kDouble));
  v.adding = kRms * kRms * (parts.to(at::kDouble) - 1).clamp_min(0) * (unit * end + v.adding);
}

/// [B, Hq, S] to [B, Hkv, S]: the heads of a group add up.
RowVariance ofKeyHeads(const RowVariance& v, std::int64_t key_heads, double unit) {
  return changed(v, [&](const at::Tensor& t) {
    return t.view({t.size(0), key_heads, t.size(1) / key_heads, t.size(2)}).sum(2) * unit;
  });
}

}  // namespace

RowVariance joined(const std::vector<RowVariance>& parts, std::int64_t dim) {
  std::vector<at::Tensor> spread, terms, single, merging, tiles, adding;
  for (const RowVariance& part : parts) {
    if (part.tiles.defined()) tiles.push_back(part.tiles);
    if (part.adding.defined()) adding.push_back(part.adding);
    spread.push_back(part.spread);
    terms.push_back(part.terms);
    single.push_back(part.single);
    merging.push_back(part.merging);
  }
  return {at::cat(spread, dim),
          at::cat(terms, dim),
          at::cat(single, dim),
          at::cat(merging, dim),
          tiles.empty() ? at::Tensor() : at::cat(tiles, dim),
          parts.empty() ? 0 : parts.front().bounded,
          adding.empty() ? at::Tensor() : at::cat(adding, dim)};
}

AttentionVariance attentionVariance(const LayerAttention& exact, const Mask& mask,
                                    const MergedBlocks& blocks, double scale, at::ScalarType type) {
  const double u = unitRoundoff(type == at::kDouble ? at::kDouble : at::kFloat),
               stored = std::pow(kRms * unitRoundoff(type) / u, 2),
               tiny = std::pow(halfOfSmallest(type) / u, 2);
  const AttentionSizes in(exact, mask, blocks, scale);
  const bool quick = type == at::kBFloat16 || type == at::kHalf;
  Sums sums(in, quick, stored, tiny, quick ? std::pow(kQuickExp / 2 / u, 2) : 1);
  for (std::int64_t row = 0; row < in.q.size(2); row += kRowsAtOnce)
    sums.add(row, std::min(kRowsAtOnce, in.q.size(2) - row));
  const double unit = u * u, gradient = unit * in.dout_size * in.dout_size;
  AttentionVariance all{ofRows(sums.out, unit), ofRows(sums.lse_rows, unit),
                        ofRows(sums.dq, gradient),
                        ofKeyHeads(sums.ofDk(), exact.k.size(1), gradient),
                        ofKeyHeads(sums.ofDv(), exact.k.size(1), gradient)};
  const at::Tensor dq2 = rowSquares(exact.dq.cpu().to(at::kDouble));
  all.dq.single += all.lse.single * dq2;
  all.dq.merging += unit * at::cat(sums.merged_rows, 2) * dq2;
  countParts(all.dq, exact.dq, blocks.row_parts, unit);
  countParts(all.dk, exact.dk, blocks.key_parts, unit);
  countParts(all.dv, exact.dv, blocks.key_parts, unit);
  // Kernels store what they have of each block of keys in the type, before blocks become one.
  all.out.spread += (quick ? 2 : 1) * storingSquares(exact.out, type);
  all.dq.spread += sums.keyTimes() * storingSquares(exact.dq, type);
  // Heads of a group are stored one by one before they add up.
  const at::Tensor times = sums.queryTimes().clamp_min(in.group > 1 ? 2 : 1);
  all.dk.spread += times * storingSquares(exact.dk, type);
  all.dv.spread += times * storingSquares(exact.dv, type);
  if (quick) all.lse.bounded = kQuickExp;
  return all;
}

}  // namespace ringscope::engine
