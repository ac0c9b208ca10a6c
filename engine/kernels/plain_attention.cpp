// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/plain_attention.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <algorithm>
#include <limits>

#include "engine/kernels/scores.h"
#include "traces/format/schema/band.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kRowsAtOnce = 512;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A piece in the type of its sums, with one key head per query head.
class PlainPiece {
 public:
  PlainPiece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Piece& piece,
             const ScoreRule& rule, const Dropout& dropout, const PairPlaces& places)
      : type_(q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat),
        q_(q.slice(2, piece.q_begin, piece.q_end).to(type_)),
        k_(perQueryHead(k, piece, q.size(1))),
        v_(perQueryHead(v, piece, q.size(1))),
        refused_(piece.mask == traces::PieceMask::kFull
                     ? at::Tensor()
                     : atRefusedPairs(piece, true, at::kBool).to(q.device())),
        rule_(rule),
        piece_(piece),
        dropout_(dropout),
        places_(places) {}

  std::int64_t rows() const { return q_.size(2); }
  at::ScalarType type() const { return type_; }
  const at::Tensor& k() const { return k_; }
  const at::Tensor& v() const { return v_; }
  at::Tensor q(std::int64_t row) const { return cut(q_, row); }
  static at::Tensor cut(const at::Tensor& t, std::int64_t row) {
    return t.slice(2, row, std::min(t.size(2), row + kRowsAtOnce));
  }
  /// Returns scores [B, Hq, rows, keys], with -inf for masked pairs.
  at::Tensor scores(std::int64_t row) const {
    at::Tensor s = scoresFrom(at::matmul(q(row), k_.transpose(-1, -2)), rule_);
    if (refused_.defined())
      s.masked_fill_(refused_.slice(0, row, std::min(rows(), row + kRowsAtOnce)), -kInfinity);
    return s;
  }
  /// Returns the dropout factor of each pair in these rows.
  at::Tensor kept(std::int64_t row) const {
    PairPlaces here = places_;
    here.queries = part(places_.queries, piece_.q_begin + row,
                        std::min(piece_.q_end, piece_.q_begin + row + kRowsAtOnce));
    here.keys = part(places_.keys, piece_.k_begin, piece_.k_end);
    return keptPairs(dropout_, here, q_.size(0), q_.size(1)).to(q_.device(), type_);
  }
  bool drops() const { return dropout_.p > 0; }

 private:
  static std::span<const traces::TokenIndex> part(std::span<const traces::TokenIndex> rows,
                                                  std::int64_t begin, std::int64_t end) {
    return rows.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }
  at::Tensor perQueryHead(const at::Tensor& t, const Piece& piece, std::int64_t heads) const {
    return t.slice(2, piece.k_begin, piece.k_end).to(type_).repeat_interleave(heads / t.size(1), 1);
  }

  at::ScalarType type_;
  at::Tensor q_, k_, v_, refused_;
  ScoreRule rule_;
  const Piece& piece_;
  const Dropout& dropout_;
  const PairPlaces& places_;
};

/// Returns lse with -inf replaced by 0: exp(-inf − -inf) would be NaN, and exp(-inf − 0) is 0.
at::Tensor base(const at::Tensor& lse) {
  return lse.masked_fill(at::isneginf(lse), 0).unsqueeze(-1);
}

}  // namespace

at::Tensor perKeyHead(const at::Tensor& gradient, const at::Tensor& k) {
  const std::int64_t copies = gradient.size(1) / k.size(1);
  return copies == 1 ? gradient : gradient.unflatten(1, {k.size(1), copies}).sum(2);
}

at::Tensor atRefusedPairs(const Piece& piece, const at::Scalar& value, at::ScalarType type) {
  const std::int64_t rows = piece.q_end - piece.q_begin, keys = piece.k_end - piece.k_begin;
  const traces::Band allowed = traces::Band::of(piece).from(piece.q_begin, piece.k_begin);
  at::Tensor refused = at::zeros({rows, keys}, type);
  AT_DISPATCH_ALL_TYPES_AND3(at::kBool, at::kHalf, at::kBFloat16, type, "atRefusedPairs", [&] {
    auto* row = refused.mutable_data_ptr<scalar_t>();
    const auto refuse = value.to<scalar_t>();
    for (std::int64_t q = 0; q < rows; ++q, row += keys) {
      const std::int64_t first = std::clamp<std::int64_t>(allowed.firstKey(q), 0, keys);
      std::fill(row, row + first, refuse);
      std::fill(row + std::clamp(allowed.endKey(q), first, keys), row + keys, refuse);
    }
  });
  return refused;
}

AttentionResult attendPiecePlain(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const Piece& piece, const ScoreRule& rule, const Dropout& dropout,
                                 const PairPlaces& places) {
  const PlainPiece p(q, k, v, piece, rule, dropout, places);
  std::vector<at::Tensor> out, lse;
  for (std::int64_t row = 0; row < p.rows(); row += kRowsAtOnce) {
    const at::Tensor s = p.scores(row);
    lse.push_back(at::logsumexp(s, -1));
    at::Tensor weights = at::exp(s - base(lse.back()));
    if (p.drops()) weights = weights * p.kept(row);
    out.push_back(at::matmul(weights, p.v()));
  }
  return {at::cat(out, 2), at::cat(lse, 2)};
}

AttentionGradients attendPiecePlainBackward(const at::Tensor& dout, const at::Tensor& q,
                                            const at::Tensor& k, const at::Tensor& v,
                                            const AttentionResult& merged, const Piece& piece,
                                            const ScoreRule& rule, const Dropout& dropout,
                                            const PairPlaces& places) {
  const PlainPiece p(q, k, v, piece, rule, dropout, places);
  auto rows = [&](const at::Tensor& t) {
    return t.slice(2, piece.q_begin, piece.q_end).to(p.type());
  };
  const at::Tensor dout_rows = rows(dout), lse = rows(merged.lse);
  const at::Tensor delta = (dout_rows * rows(merged.out)).sum(-1, true);
  at::Tensor dk = at::zeros_like(p.k()), dv = at::zeros_like(p.v());
  std::vector<at::Tensor> dq;
  for (std::int64_t row = 0; row < p.rows(); row += kRowsAtOnce) {
    const at::Tensor scores = p.scores(row);
    const at::Tensor weights = at::exp(scores - base(PlainPiece::cut(lse, row)));
    const at::Tensor d = PlainPiece::cut(dout_rows, row);
    at::Tensor used = weights, dp = at::matmul(d, p.v().transpose(-1, -2));
    if (p.drops()) {
      const at::Tensor kept = p.kept(row);
      used = weights * kept;
      dp = dp * kept;
    }
    dv += at::matmul(used.transpose(-1, -2), d);
    const at::Tensor ds =
        beforeSoftcap(weights * (dp - PlainPiece::cut(delta, row)), scores, rule) * rule.scale;
    dq.push_back(at::matmul(ds, p.k()));
    dk += at::matmul(ds.transpose(-1, -2), p.q(row));
  }
  return {at::cat(dq, 2), perKeyHead(dk, k), perKeyHead(dv, k)};
}

}  // namespace ringscope::engine
