// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "traces/analysis/verify/recompute/mask.h"
#include "traces/format/schema/score_rule.h"

namespace ringscope::traces {

/// The inputs of one unsharded attention. Query heads are assigned to KV heads in order: head h
/// attends KV head h / (heads / kv_heads). All arrays are row-major.
struct AttentionInputs : ScoreRule {
  std::int64_t batch = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::vector<TokenIndex> q_tokens, k_tokens;  ///< tokens of the rows and of the keys; the keys
                                               ///< ascend
  std::span<const double> q;                   ///< [batch, heads, rows, head_dim]
  std::span<const double> k, v;                ///< [batch, kv_heads, keys, head_dim]
  std::span<const double> dout;                ///< as q; empty: forward only
  std::span<const double> sinks;               ///< [batch, heads] logits; empty: no sinks
  AttentionMask mask;

  std::int64_t rows() const { return static_cast<std::int64_t>(q_tokens.size()); }
  std::int64_t keys() const { return static_cast<std::int64_t>(k_tokens.size()); }
  std::int64_t groupSize() const { return heads / kv_heads; }
  /// Throws inputError unless the arrays have the sizes above and `heads` is a multiple of
  /// `kv_heads`.
  void check() const;
};

/// The results. A row without a key has out 0, and lse −inf or its sink.
struct AttentionValues {
  std::vector<double> out;     ///< as q
  std::vector<double> lse;     ///< [batch, heads, rows], natural logarithm
  std::vector<double> delta;   ///< [batch, heads, rows]: dout · out; this and the members below
                               ///< need dout
  std::vector<double> dq;      ///< as q
  std::vector<double> dk, dv;  ///< as k, summed over the heads that share a KV head
};

/// One query row during the computation. The field `weights` holds the softmax of the keys from
/// index first_key on; all other weights are 0. The field `dscores` holds the gradients of the
/// row's scores before the scale; empty without dout.
struct AttentionRow {
  std::int64_t batch = 0, head = 0, row = 0, first_key = 0;
  std::span<const double> weights, dscores;
  std::span<const double> out;
  double lse = 0, delta = 0;
};
using AttentionVisitor = std::function<void(const AttentionRow&)>;

/// Computes attention in fp64, forward and, if dout is given, backward:
///   S = scale·q·kᵀ (capped by softcap), lse = log(Σ exp(S) + exp(sink)), P = exp(S − lse), out =
///   P·v. Delta = rowsum(dout ∘ out), dS = P ∘ (dout·vᵀ − delta). Then dv = Pᵀ·dout, dq =
///   scale·dS·k, dk = scale·dSᵀ·q.
/// See Dao 2023, "FlashAttention-2", arXiv:2307.08691, section 2.2 and algorithm 2. Besides the
/// results it needs memory for rows × keys of one tile and for K and V of one KV head. Calls
/// `visit` for every row after it was computed. Throws inputError as check() does.
AttentionValues attend(const AttentionInputs& in, const AttentionVisitor& visit = {});

/// Returns the multiply-adds that attend() needs for one query head of one batch entry. `backward`:
/// with dout.
double attentionWork(const std::vector<TokenIndex>& q_tokens,
                     const std::vector<TokenIndex>& k_tokens, const AttentionMask& mask,
                     std::int64_t head_dim, bool backward);

}  // namespace ringscope::traces
