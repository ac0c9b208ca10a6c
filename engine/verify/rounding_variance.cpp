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
// A score is off by u·σ, and the exponential and its argument's rounding add u: a weight's relative
// error has the square u²(1 + σ²). It moves out by p(1 − p)·v at most, since the weights of a row
// add up to 1.
//   out    storing, P and out: (s² + u²)(|out|² + Σp²|v|²); weights: u²Σp²(1 − p)(1 + σ²)|v|²
//   lse    u²(1 + lse²) + u²Σp²(1 + σ²)
//   delta  |dout|²·Δout² / D + u²|dout|²|out|² / 8: the error of out points anywhere; a dot product
//          of D terms in eight lanes
//   dq     storing, dS and dq: scale²(s² + u²)Σ(dS·k)² + s²|dq|²; weights:
//          scale²(u²Σσ²(dS·k)² + η²Σp²|k|² + Δdelta²·|Σp·k|²) + Δlse²|dq|²,
//          η² = u²|dout|²max|v|² / 8
//   dv     storing: (s² + u²)Σp²|dout|² + s²|dv|²; weights: Σ(Δlse² + u²σ²)p²|dout|²
//   dk     storing: scale²(s² + u²)Σ(dS·q)² + s²|dk|²; weights:
//          scale²(Σ(Δlse² + u²σ²)(dS·q)² + Σp²(η² + Δdelta²)|q|²)
// What underflows in the type of P and dS is one more rounding of fixed size a pair.
//
// Merging rounds the lse of two blocks, 0.41·u·lse each: a block's weight is off by √2 times that,
// and out with it by Σp²(1 − p)|v|², delta by that, P of the backward pass by the merged lse's
// own rounding.
//
// All of it is computed in units of u² and of max|dout|, so that fp32 holds it.
#include "engine/verify/rounding_variance.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "engine/attention/reference.h"
#include "engine/verify/error_measure.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kRowsAtOnce = 256;
constexpr double kRms = 0.41;
constexpr double kLanes = 8;

/// Squares of the 2-norms of rows: [..., D] to [...].
at::Tensor rowSquares(const at::Tensor& t) {
  return at::square(t).sum(-1);
}

/// Half the smallest distance of two numbers of a type: what is rounded to 0 is off by as much.
double halfOfSmallest(at::ScalarType type) {
  return type == at::kHalf ? 0x1p-25 : type == at::kDouble ? 0x1p-1022 : 0x1p-126;
}

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

/// The inputs and results of one attention in fp32, dout in units of its largest element.
struct Operands {
  Operands(const LayerAttention& exact, const Mask& of_mask, double of_scale)
      : mask(of_mask),
        scale2(of_scale * of_scale),
        scale(of_scale),
        dout_size(std::max(exact.dout.abs().max().item<double>(), 1e-300)),
        q(exact.q.cpu().to(at::kFloat)),
        k(perQueryHead(exact.k, exact.q.size(1))),
        v(perQueryHead(exact.v, exact.q.size(1))),
        dout((exact.dout.cpu().to(at::kDouble) / dout_size).to(at::kFloat)),
        out(exact.out.cpu().to(at::kFloat)),
        lse(exact.lse.cpu().to(at::kFloat)),
        k2(rowSquares(k)),
        v2(rowSquares(v)) {}

  /// [B, Hkv, S, D] to [B, Hq, S, D]
  static at::Tensor perQueryHead(const at::Tensor& t, std::int64_t heads) {
    return t.cpu().to(at::kFloat).repeat_interleave(heads / t.size(1), 1);
  }

  const Mask& mask;
  double scale2, scale, dout_size;
  at::Tensor q, k, v, dout, out, lse, k2, v2;
};

/// What a block of query rows and all keys know of each other: [B, H, rows, keys].
struct PairSizes {
  PairSizes(const Operands& in, std::int64_t row, std::int64_t rows) {
    const auto part = [&](const at::Tensor& t) { return t.slice(2, row, row + rows); };
    const at::Tensor refused = refusedByMask(in.mask, row, rows, in.k.size(2)), lse = part(in.lse);
    at::Tensor p = at::matmul(part(in.q), in.k.transpose(-1, -2)) * in.scale;
    p.masked_fill_(refused, -std::numeric_limits<double>::infinity());
    p = at::exp(p - lse.masked_fill(at::isneginf(lse), 0).unsqueeze(-1));
    const at::Tensor delta = (part(in.dout) * part(in.out)).sum(-1, true);
    ds2 = at::square(p * (at::matmul(part(in.dout), in.v.transpose(-1, -2)) - delta));
    mean_key2 = rowSquares(at::matmul(p, in.k));
    p2 = at::square(p);
    moved = p2 * (1 - p).clamp_min(0);
    allowed = at::logical_not(refused).to(at::kFloat).expand_as(p2);
  }
  at::Tensor p2;         ///< squares of the weights
  at::Tensor moved;      ///< p²(1 − p)
  at::Tensor ds2;        ///< squares of the scores' gradients, without scale
  at::Tensor allowed;    ///< 1 where the mask allows a pair
  at::Tensor mean_key2;  ///< |Σp·k|²; [B, H, rows]
};

/// In units of u², and of max|dout|² where that matters.
class Sums {
 public:
  Sums(const Operands& in, double stored, double tiny)
      : in_(in), stored_(stored), tiny_(tiny), width_(static_cast<double>(in.q.size(3))) {}

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
               of_pairs = weighted(pairs.allowed, {in_.v2, in_.k2});
    const RowVariance of_out{(stored_ + 1) * (o2 + of_p[0]) + tiny_ * of_pairs[0],
                             of_moved[0] + score2 * of_moved[1],
                             2 * kRms * kRms * lse2 * of_moved[0] + 0.2 * o2};
    const at::Tensor lse_error = lse2 + of_p[2] + score2 * of_p[1], merged = kRms * kRms * lse2;
    const at::Tensor eta2 = d2 * in_.v2.amax(-1, true) / kLanes,
                     delta2 = d2 * (of_out.spread + of_out.single) / width_ + d2 * o2 / kLanes,
                     delta_merged = d2 * of_out.merging / width_;
    out.push_back(of_out);
    lse_rows.push_back({at::zeros_like(lse_error), lse_error, 2 * merged});
    dq.push_back({in_.scale2 * ((stored_ + 1) * of_ds[0] + tiny_ * of_pairs[1]),
                  in_.scale2 * (score2 * of_ds[1] + eta2 * of_p[1] + delta2 * pairs.mean_key2),
                  in_.scale2 * delta_merged * pairs.mean_key2});
    addTo(p_, weighted(pairs.p2.transpose(-1, -2), {d2, d2 * lse_error, d2 * score2, d2 * merged,
                                                    (eta2 + delta2) * q2, delta_merged * q2}));
    addTo(ds_,
          weighted(pairs.ds2.transpose(-1, -2), {q2, q2 * lse_error, q2 * score2, q2 * merged}));
    addTo(pairs_, weighted(pairs.allowed.transpose(-1, -2), {d2, q2}));
  }

  /// After all rows, as [B, Hq, keys].
  RowVariance ofDk() const {
    return {in_.scale2 * ((stored_ + 1) * ds_[0] + tiny_ * pairs_[1]),
            in_.scale2 * (ds_[1] + in_.k2 * ds_[2] + p_[4]), in_.scale2 * (ds_[3] + p_[5])};
  }
  RowVariance ofDv() const {
    return {(stored_ + 1) * p_[0] + tiny_ * pairs_[0], p_[1] + in_.k2 * p_[2], p_[3]};
  }

  std::vector<RowVariance> out, lse_rows, dq;  ///< by block of rows

 private:
  const Operands& in_;
  double stored_, tiny_, width_;
  std::vector<at::Tensor> p_, ds_, pairs_;  ///< sums over query rows
};

/// Every part changed alike, in fp64.
template <typename Change>
RowVariance changed(const RowVariance& v, Change change) {
  return {change(v.spread.to(at::kDouble)), change(v.single.to(at::kDouble)),
          change(v.merging.to(at::kDouble))};
}

/// Of all rows, in other units.
RowVariance ofRows(const std::vector<RowVariance>& blocks, double unit) {
  return changed(joined(blocks, 2), [unit](const at::Tensor& t) { return t * unit; });
}

/// [B, Hq, S] to [B, Hkv, S]: the heads of a group add up.
RowVariance ofKeyHeads(const RowVariance& v, std::int64_t key_heads, double unit) {
  return changed(v, [&](const at::Tensor& t) {
    return t.view({t.size(0), key_heads, t.size(1) / key_heads, t.size(2)}).sum(2) * unit;
  });
}

}  // namespace

RowVariance joined(const std::vector<RowVariance>& parts, std::int64_t dim) {
  std::vector<at::Tensor> spread, single, merging;
  for (const RowVariance& part : parts) {
    spread.push_back(part.spread);
    single.push_back(part.single);
    merging.push_back(part.merging);
  }
  return {at::cat(spread, dim), at::cat(single, dim), at::cat(merging, dim)};
}

AttentionVariance attentionVariance(const LayerAttention& exact, const Mask& mask, double scale,
                                    at::ScalarType type) {
  const double u = unitRoundoff(type == at::kDouble ? at::kDouble : at::kFloat),
               stored = std::pow(kRms * unitRoundoff(type) / u, 2),
               tiny = std::pow(halfOfSmallest(type) / u, 2);
  const Operands in(exact, mask, scale);
  Sums sums(in, stored, tiny);
  for (std::int64_t row = 0; row < in.q.size(2); row += kRowsAtOnce)
    sums.add(row, std::min(kRowsAtOnce, in.q.size(2) - row));
  const double unit = u * u, gradient = unit * in.dout_size * in.dout_size;
  AttentionVariance all{ofRows(sums.out, unit), ofRows(sums.lse_rows, unit),
                        ofRows(sums.dq, gradient),
                        ofKeyHeads(sums.ofDk(), exact.k.size(1), gradient),
                        ofKeyHeads(sums.ofDv(), exact.k.size(1), gradient)};
  const at::Tensor dq2 = rowSquares(exact.dq.cpu().to(at::kDouble));
  all.dq.spread += unit * stored * dq2;
  all.dq.single += all.lse.single * dq2;
  all.dq.merging += all.lse.merging / 2 * dq2;
  all.dk.spread += unit * stored * rowSquares(exact.dk.cpu().to(at::kDouble));
  all.dv.spread += unit * stored * rowSquares(exact.dv.cpu().to(at::kDouble));
  return all;
}

}  // namespace ringscope::engine
