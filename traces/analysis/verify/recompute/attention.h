// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "traces/analysis/verify/recompute/mask.h"

namespace ringscope::traces {

/// What one unsharded attention is computed from. Query heads are shared out to KV heads in order:
/// head h attends KV head h / (heads / kv_heads). All arrays are row-major.
struct AttentionInputs {
  std::int64_t batch = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::vector<TokenIndex> q_tokens, k_tokens;  ///< of the rows and of the keys; keys ascend
  std::span<const double> q;                   ///< [batch, heads, rows, head_dim]
  std::span<const double> k, v;                ///< [batch, kv_heads, keys, head_dim]
  std::span<const double> dout;                ///< as q; empty: forward only
  std::span<const double> sinks;               ///< [batch, heads] logits; empty: no sinks
  double scale = 0;                            ///< of q·k before the softmax
  AttentionMask mask;

  std::int64_t rows() const { return static_cast<std::int64_t>(q_tokens.size()); }
  std::int64_t keys() const { return static_cast<std::int64_t>(k_tokens.size()); }
  std::int64_t groupSize() const { return heads / kv_heads; }
  /// Throws inputError unless the arrays have the sizes above and the heads divide.
  void check() const;
};

/// The results. A row without a key has out 0, and lse −inf or its sink.
struct AttentionValues {
  std::vector<double> out;     ///< as q
  std::vector<double> lse;     ///< [batch, heads, rows], natural logarithm
  std::vector<double> delta;   ///< [batch, heads, rows]: dout · out; this and below need dout
  std::vector<double> dq;      ///< as q
  std::vector<double> dk, dv;  ///< as k, summed over the heads that share a KV head
};

/// One query row while it is at hand. `weights` are the softmax of the keys from index first_key
/// on, and `dscores` the gradients of its scores (before the scale; empty without dout); all other
/// weights are 0.
struct AttentionRow {
  std::int64_t batch = 0, head = 0, row = 0, first_key = 0;
  std::span<const double> weights, dscores;
  std::span<const double> out;
  double lse = 0, delta = 0;
};
using AttentionVisitor = std::function<void(const AttentionRow&)>;

/// Attention in fp64, forward and, where dout is given, backward:
///   S = scale·q·kᵀ, lse = log(Σ exp(S) + exp(sink)), P = exp(S − lse), out = P·v,
///   delta = rowsum(dout ∘ out), dS = P ∘ (dout·vᵀ − delta),
///   dv = Pᵀ·dout, dq = scale·dS·k, dk = scale·dSᵀ·q
/// (Dao 2023, "FlashAttention-2", arXiv:2307.08691, section 2.2 and algorithm 2). The rows of a
/// tile pass once; memory beside the results is a tile's rows × keys and one KV head's K and V.
/// `visit` sees every row after it was computed. Throws inputError as check() does.
AttentionValues attend(const AttentionInputs& in, const AttentionVisitor& visit = {});

/// Multiply-adds that attend() takes for one query head of one batch entry; `backward`: with dout.
double attentionWork(const std::vector<TokenIndex>& q_tokens,
                     const std::vector<TokenIndex>& k_tokens, const AttentionMask& mask,
                     std::int64_t head_dim, bool backward);

}  // namespace ringscope::traces
