// SPDX-License-Identifier: Apache-2.0
//
// How far a right attention may be from the exact one, row by row.
//
// u is the unit roundoff of the sums (fp32, or fp64 for fp64 runs) and u' that of the type in which
// tensors are stored (bf16, say). A dot product of n terms in floating point has an error of at
// most γ_n Σ|x_i·y_i| with γ_n = n·u / (1 − n·u) (Higham, "Accuracy and Stability of Numerical
// Algorithms", 2nd edition, section 3.1). That is reached only when all roundings go one way; for
// independent ones γ̃_n = λ·√n·u holds with a probability of at least 1 − 2n·exp(−λ²/2) (Higham and
// Mary 2019, "A New Approach to Probabilistic Rounding Error Analysis", theorem 2.4). γ̃_n with λ =
// 6 is used here, since γ_n of 8,192 keys would pass an error of 5e-4. Sizes |q|, |k|, |v| are
// 2-norms, and Σ|q_i·k_i| ≤ |q|·|k|.
//
// Forward, of a row with n keys, m merges, head size D, s = scale·|q|·max|k|:
//   scores          |ΔS| ≤ (γ̃_D + 2u)·s
//   weights         ΔP / P ≤ ε = |ΔS| + x + (4 + λ·√n)·u (exponential, sum, division)
//                   + m·u·(s + |lse| + 6) (m merges: exp of a rounded difference of two lse),
//                   and P itself to within t where it underflows. x is the exponential's own error:
//                   fused kernels ask for 20 units in the last place, and for 16-bit types they
//                   take a shorter polynomial, with which the CPU kernel of PyTorch 2.11 was
//                   measured to be off by up to 1e-4; 2⁻¹² is used (measured, not derived).
//   lse             ε + u·|lse|
//   out             2ε·Σp|v| + γ̃_n·Σp|v| + t·Σ|v|, and what storing costs:
//                   c·u'·√(2(|out|² + Σp²|v|²)).
// Stored are P (fused kernels round it to the type of V), each block's out and the merged out. The
// first adds Σ δ_j·p_j·v_j with |δ_j| ≤ u', whose size is u'·√Σp²|v|² when the δ_j are independent;
// the second u'·√Σ w_b²|out_b|², which lies below √(|out|² + Σp²|v|²) where blocks are neither
// alike nor opposed. Heuristic, like c.
//
// Backward recomputes P from the lse that forward stored, so ΔP / P ≤ ε' = 2ε + u·|lse|.
//   scores' gradients  dS = P·(dP − delta), dP = dout·v:
//                   |ΔdS| ≤ ε'·|dS| + P·η + t·|dout|·(max|v| + |out|),
//                   η = γ̃_D·|dout|·(max|v| + |out|) + min(1, 3 / √D)·|dout|·Δout.
//                   The last is delta's, which is computed from the recorded out: a product with an
//                   error that points anywhere has the size |dout|·|Δout| / √D (heuristic).
//   dq              scale·(ε'·Σ|dS||k| + η·Σp|k| + γ̃_n·Σ|dS||k|)
//                   + c·u'·√((1 + m)·(|dq|² + scale²·Σ|dS·k|²))
//   dv of a key     Σ_i ε'_i·p_i|dout_i| + γ̃_n·Σp|dout|
//                   + c·u'·√((1 + parts)·(|dv|² + Σp²|dout|²))
//   dk of a key     scale·(Σ_i ε'_i·|dS_i||q_i| + 2·√Σ(η_i·p_i·|q_i|)² + γ̃_n·Σ|dS||q|)
//                   + c·u'·√((1 + parts)·(|dk|² + scale²·Σ|dS·q|²)).
// η_i is of row i, so it is one error for all of dq's terms but independent from term to term of
// dk. Partial sums are stored once a merge or part; of (1 + m) and (1 + parts) roundings of about
// the result's size the errors add as independent ones. Over a row's D elements their 2-norm
// concentrates, so c = 1 + 2 / √D. With that, bf16 and fp16 rings of PyTorch's CPU kernels (512 to
// 2,048 tokens, D 16 and 64) reached at most 0.3 of these limits. Terms with t are left out above
// where it is clear how they go on.
//
// An attention sink is one more key that has no value, merged as a block is.
//
// The exact values are themselves fp64 sums, which matters for fp64 recordings only: there u is
// taken twice.
#include "traces/analysis/verify/recompute/row_limits.h"

#include <algorithm>
#include <cmath>

namespace ringscope::traces {
namespace {

constexpr double kLambda = kRoundingLambda;

/// c above.
double storing(std::int64_t head_dim) {
  return 1 + 2 / std::sqrt(static_cast<double>(head_dim));
}

std::vector<double> rowNorms(std::span<const double> values, std::int64_t width) {
  const auto size = static_cast<std::size_t>(width);
  std::vector<double> norms(values.size() / size);
  for (std::size_t row = 0; row < norms.size(); ++row) {
    double squares = 0;
    for (std::size_t d = 0; d < size; ++d)
      squares += values[row * size + d] * values[row * size + d];
    norms[row] = std::sqrt(squares);
  }
  return norms;
}

double square(double x) {
  return x * x;
}

double norm(std::span<const double> row) {
  double squares = 0;
  for (const double value : row) squares += square(value);
  return std::sqrt(squares);
}

}  // namespace

double unitRoundoff(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 0x1p-24;
    case DType::kFloat64:
      return 0x1p-53;
    case DType::kBFloat16:
      return 0x1p-8;
    case DType::kFloat16:
      return 0x1p-11;
    default:
      return 0;
  }
}

double underflow(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 0x1p-1022;
    case DType::kFloat16:
      return 0x1p-24;
    default:
      return 0x1p-126;
  }
}

RowLimits::RowLimits(const AttentionInputs& in, const Precision& precision)
    : in_(in),
      precision_(precision),
      q_norm_(rowNorms(in.q, in.head_dim)),
      k_norm_(rowNorms(in.k, in.head_dim)),
      v_norm_(rowNorms(in.v, in.head_dim)),
      dout_norm_(rowNorms(in.dout, in.head_dim)),
      query_rows_(q_norm_.size()),
      key_rows_(in.dout.empty() ? 0 : k_norm_.size()) {}

void RowLimits::visit(const AttentionRow& row) {
  const auto index =
      static_cast<std::size_t>((row.batch * in_.heads + row.head) * in_.rows() + row.row);
  QueryRow sizes = forward(row, index);
  if (!in_.dout.empty()) backward(row, index, sizes);
  query_rows_[index] = sizes;
}

RowLimits::QueryRow RowLimits::forward(const AttentionRow& row, std::size_t index) const {
  QueryRow sizes;
  if (row.weights.empty()) return sizes;
  const std::int64_t kv_head = row.batch * in_.kv_heads + row.head / in_.groupSize();
  const auto first = static_cast<std::size_t>(kv_head * in_.keys() + row.first_key);
  double largest_key = 0, weighted = 0, spread = 0, values = 0;
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    const double size = row.weights[j] * v_norm_[first + j];
    largest_key = std::max(largest_key, k_norm_[first + j]);
    weighted += size;
    spread += square(size);
    values += v_norm_[first + j];
  }
  const double u = precision_.sums, width = std::sqrt(static_cast<double>(in_.head_dim));
  const double score = in_.scale * q_norm_[index] * largest_key;
  const double merges = precision_.merges[static_cast<std::size_t>(row.row)];
  sizes.keys = static_cast<double>(row.weights.size());
  sizes.weight = score * (kLambda * width * u + 2 * u) + precision_.exponential +
                 u * (4 + kLambda * std::sqrt(sizes.keys)) +
                 merges * u * (score + std::abs(row.lse) + 6);
  sizes.lse = sizes.weight + u * std::abs(row.lse);
  sizes.out =
      (2 * sizes.weight + kLambda * std::sqrt(sizes.keys) * u) * weighted +
      precision_.tiny * (values + width) +
      storing(in_.head_dim) * precision_.stored * std::sqrt(2 * (square(norm(row.out)) + spread));
  return sizes;
}

void RowLimits::backward(const AttentionRow& row, std::size_t index, QueryRow& sizes) {
  if (row.weights.empty()) return;
  const std::int64_t kv_head = row.batch * in_.kv_heads + row.head / in_.groupSize();
  const auto first = static_cast<std::size_t>(kv_head * in_.keys() + row.first_key);
  const double u = precision_.sums, width = std::sqrt(static_cast<double>(in_.head_dim));
  const double q = q_norm_[index], dout = dout_norm_[index];
  const double weight = 2 * sizes.weight + u * std::abs(row.lse);
  const double largest_value =
      *std::max_element(v_norm_.begin() + static_cast<std::ptrdiff_t>(first),
                        v_norm_.begin() + static_cast<std::ptrdiff_t>(first + row.weights.size()));
  const double score_gradient = dout * (kLambda * width * u * (largest_value + norm(row.out)) +
                                        std::min(1.0, 3 / width) * sizes.out);
  const double tiny = precision_.tiny * dout * (largest_value + norm(row.out));
  double sum = 0, spread = 0, keys = 0, all_keys = 0;
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    const double p = row.weights[j], ds = std::abs(row.dscores[j]), k = k_norm_[first + j];
    sum += ds * k;
    spread += square(ds * k);
    keys += p * k;
    all_keys += k;
    KeyRow& key = key_rows_[first + j];
    key.queries += 1;
    key.dk += (weight * ds + tiny) * q;
    key.dk_size += ds * q;
    key.dk_random += square(p * score_gradient * q);
    key.dk_spread += square(ds * q);
    key.dv += (weight * p + precision_.tiny) * dout;
    key.dv_size += p * dout;
    key.dv_spread += square(p * dout);
  }
  sizes.plain = in_.scale * ((weight + kLambda * std::sqrt(sizes.keys) * u) * sum +
                             score_gradient * keys + tiny * all_keys);
  sizes.spread = in_.scale * std::sqrt(spread);
}

Limits RowLimits::finish(const AttentionValues& values) const {
  const auto stored = [&](double parts, double result, double spread_squared) {
    return storing(in_.head_dim) * precision_.stored *
               std::sqrt((1 + parts) * (square(result) + spread_squared)) +
           precision_.tiny * std::sqrt(static_cast<double>(in_.head_dim));
  };
  Limits limits;
  const auto dq = rowNorms(values.dq, in_.head_dim);
  for (std::size_t i = 0; i < query_rows_.size(); ++i) {
    const QueryRow& row = query_rows_[i];
    limits.out.push_back(row.out);
    limits.lse.push_back(row.lse);
    if (dq.empty()) continue;
    const double merges = precision_.merges[i % precision_.merges.size()];
    limits.dq.push_back(row.plain + stored(merges, dq[i], square(row.spread)));
  }
  const auto dk = rowNorms(values.dk, in_.head_dim), dv = rowNorms(values.dv, in_.head_dim);
  for (std::size_t j = 0; j < key_rows_.size(); ++j) {
    const KeyRow& key = key_rows_[j];
    const double sums = kLambda * std::sqrt(key.queries) * precision_.sums;
    limits.dk.push_back(in_.scale * (key.dk + 2 * std::sqrt(key.dk_random) + sums * key.dk_size) +
                        stored(precision_.key_parts, dk[j], square(in_.scale) * key.dk_spread));
    limits.dv.push_back(key.dv + sums * key.dv_size +
                        stored(precision_.key_parts, dv[j], key.dv_spread));
  }
  return limits;
}

}  // namespace ringscope::traces
