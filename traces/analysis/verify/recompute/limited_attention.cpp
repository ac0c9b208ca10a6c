// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/limited_attention.h"

#include <cmath>

#include "traces/analysis/verify/rounding/attention_variance.h"
#include "traces/analysis/verify/rounding/roundoff.h"

namespace ringscope::traces {
namespace {

RoundedAttention rounded(const AttentionInputs& in, const Precision& precision) {
  RoundedAttention attention;
  attention.heads = in.batch * in.heads;
  attention.kv_heads = in.batch * in.kv_heads;
  attention.head_dim = in.head_dim;
  attention.scale = in.scale;
  attention.has_sinks = !in.sinks.empty();
  attention.dtype = precision.dtype;
  attention.blocks = precision.blocks;
  attention.q2 = rowSquares(in.q, in.head_dim);
  attention.k2 = rowSquares(in.k, in.head_dim);
  attention.v2 = rowSquares(in.v, in.head_dim);
  attention.dout2 = rowSquares(in.dout, in.head_dim);
  return attention;
}

/// The gradients of the rows whose backward began with the stored out. Delta is dout · out, so an
/// out that differs by e changes dS by −p·(dout · e).
class StoredOut {
 public:
  StoredOut(const AttentionInputs& in, std::span<const double> stored_out)
      : in_(in), stored_(stored_out), width_(static_cast<std::size_t>(in.head_dim)) {
    if (stored_.empty() || in.dout.empty()) return;
    dq_.assign(in.q.size(), 0);
    dk_.assign(in.k.size(), 0);
  }

  /// Visits a row of the exact attention.
  void visit(const AttentionRow& row, VarianceSums& sums) {
    const auto head = static_cast<std::size_t>(row.batch * in_.heads + row.head);
    const std::size_t at =
        (head * static_cast<std::size_t>(in_.rows()) + static_cast<std::size_t>(row.row)) * width_;
    const std::vector<double> mean = in_.dout.empty() ? std::vector<double>() : meanKey(row);
    double squares = 0;
    for (const double value : mean) squares += value * value;
    RoundedRow rounded{head,
                       static_cast<std::size_t>(row.row),
                       static_cast<std::size_t>(row.first_key),
                       row.weights,
                       row.dscores,
                       row.out,
                       row.lse,
                       squares};
    if (!stored_.empty()) rounded.stored_out = stored_.subspan(at, width_);
    if (sums.visit(rounded) && !dq_.empty()) add(row, at, mean);
  }

  void addTo(AttentionValues& values) const {
    for (std::size_t i = 0; i < dq_.size(); ++i) values.dq[i] += dq_[i];
    for (std::size_t i = 0; i < dk_.size(); ++i) values.dk[i] += dk_[i];
  }

 private:
  std::size_t firstKeyAt(const AttentionRow& row) const {
    const std::int64_t kv_head = row.batch * in_.kv_heads + row.head / in_.groupSize();
    return static_cast<std::size_t>(kv_head * in_.keys() + row.first_key) * width_;
  }
  /// Returns Σ p·k.
  std::vector<double> meanKey(const AttentionRow& row) const {
    const double* key = in_.k.data() + firstKeyAt(row);
    std::vector<double> mean(width_, 0);
    for (const double weight : row.weights)
      for (std::size_t d = 0; d < width_; ++d) mean[d] += weight * *key++;
    return mean;
  }
  void add(const AttentionRow& row, std::size_t at, const std::vector<double>& mean) {
    double delta = 0;
    for (std::size_t d = 0; d < width_; ++d)
      delta += in_.dout[at + d] * (stored_[at + d] - row.out[d]);
    for (std::size_t d = 0; d < width_; ++d) dq_[at + d] -= in_.scale * delta * mean[d];
    double* dk = dk_.data() + firstKeyAt(row);
    for (const double weight : row.weights)
      for (std::size_t d = 0; d < width_; ++d) *dk++ -= in_.scale * delta * weight * in_.q[at + d];
  }

  const AttentionInputs& in_;
  std::span<const double> stored_;
  std::size_t width_;
  std::vector<double> dq_, dk_;  ///< differences from the exact gradients
};

std::vector<double> limitsOf(const TensorVariance& tensor, std::int64_t width, double widening) {
  std::vector<double> limits;
  limits.reserve(tensor.rows.size());
  for (const RowVariance& row : tensor.rows)
    limits.push_back(rowLimit(row, tensor.bounded, width, widening));
  return limits;
}

}  // namespace

LimitedAttention attendWithLimits(const AttentionInputs& in, const Precision& precision,
                                  std::span<const double> stored_out) {
  in.check();
  VarianceSums sums(rounded(in, precision));
  StoredOut stored(in, stored_out);
  LimitedAttention result;
  result.values = attend(in, [&](const AttentionRow& row) { stored.visit(row, sums); });
  stored.addTo(result.values);
  const AttentionValues& values = result.values;
  const AttentionVariance variance = sums.finish({values.dq, values.dk, values.dv});
  const auto limits = [&](const TensorVariance& tensor, std::int64_t width) {
    return limitsOf(tensor, width, precision.widening);
  };
  result.limits = {limits(variance.out, in.head_dim), limits(variance.lse, 1),
                   limits(variance.dq, in.head_dim), limits(variance.dk, in.head_dim),
                   limits(variance.dv, in.head_dim)};
  return result;
}

DType typeOfSums(DType dtype) {
  return dtype == DType::kFloat64 ? dtype : DType::kFloat32;
}

double storedAgain(DType recorded, DType computed, double size) {
  const double roundoff = unitRoundoff(recorded);
  return roundoff > unitRoundoff(computed) && std::isfinite(size) ? roundoff * size : 0;
}

}  // namespace ringscope::traces
