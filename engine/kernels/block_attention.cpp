// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/block_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "engine/kernels/fp8.h"
#include "engine/kernels/merge.h"
#include "engine/kernels/plain_attention.h"
#include "engine/kernels/sinks.h"
#include "traces/format/core/error.h"
#include "traces/plan/cpu_kernel.h"

namespace ringscope::engine {
namespace {

at::Tensor queryRows(const at::Tensor& t, const Piece& piece) {
  return t.slice(2, piece.q_begin, piece.q_end);
}
at::Tensor keyRows(const at::Tensor& t, const Piece& piece) {
  return t.slice(2, piece.k_begin, piece.k_end);
}

bool isCausal(const Piece& piece) {
  return piece.mask == traces::PieceMask::kCausal;
}

/// Returns the mask that is added to the scores of a tile mask: 0 for allowed pairs, -inf for
/// others. Its shape is [1, 1, rows, keys], the smallest that the kernel accepts. Returns nullopt
/// for other pieces.
std::optional<at::Tensor> additiveMask(const Piece& piece, at::ScalarType type) {
  if (piece.mask != traces::PieceMask::kTileMask) return std::nullopt;
  return atRefusedPairs(piece, -std::numeric_limits<double>::infinity(), type)
      .unsqueeze(0)
      .unsqueeze(0);
}

/// Sets rows whose keys are all masked to out 0 and lse -inf. The kernel returns out 0 or NaN and
/// lse 0, -inf or +inf for them, depending on type and version.
void clearRowsWithoutKeys(AttentionResult& block, const at::Tensor& mask) {
  const at::Tensor empty = at::isneginf(mask[0][0]).all(-1);  // [rows]
  block.out.masked_fill_(empty.view({1, 1, -1, 1}), 0);
  block.lse.masked_fill_(empty.view({1, 1, -1}), -std::numeric_limits<double>::infinity());
}

/// Returns how many copies of each key head the CPU kernel gets; 1 for narrow types, which would
/// round the gradient of each copy.
std::int64_t keyHeadCopiesOf(const at::Tensor& q, const at::Tensor& k, at::ScalarType type) {
  if (type == at::kBFloat16 || type == at::kHalf) return 1;
  return traces::keyHeadCopies(k.size(0) * k.size(1), q.size(1) / k.size(1), at::get_num_threads());
}

bool isSmall(const at::Tensor& q, const Piece& piece) {
  constexpr std::int64_t kSmallPiece = std::int64_t{128} * 128;
  const bool reduced = q.scalar_type() == at::kBFloat16 || q.scalar_type() == at::kHalf;
  return reduced && (piece.q_end - piece.q_begin) * (piece.k_end - piece.k_begin) <= kSmallPiece;
}

/// Reports whether CUDA's flash operator supports the piece: half types, no tile mask, and a head
/// size that is divisible by 8 and at most 256.
bool flashOnGpu(const at::Tensor& q, const Piece& piece) {
  const bool half = q.scalar_type() == at::kBFloat16 || q.scalar_type() == at::kHalf;
  return half && piece.mask != traces::PieceMask::kTileMask && q.size(3) % 8 == 0 &&
         q.size(3) <= 256;
}

/// Reports whether CUDA's memory-efficient operator supports the piece.
bool efficientOnGpu(const at::Tensor& q, const Piece& piece) {
  return q.scalar_type() != at::kDouble && piece.mask != traces::PieceMask::kTileMask &&
         q.size(3) % 8 == 0;
}

/// Returns the kernel for a piece, never auto. Throws usageError if `asked` does not support the
/// piece.
Kernel kernelFor(const at::Tensor& q, const Piece& piece, const ScoreRule& rule, Kernel asked) {
  if (asked == Kernel::kMath) return asked;
  const bool fused = rule.softcap == 0, flash = fused && (q.is_cpu() || flashOnGpu(q, piece)),
             efficient = fused && q.is_cuda() && efficientOnGpu(q, piece);
  if (asked == Kernel::kAuto)
    return flash ? Kernel::kFlash : efficient ? Kernel::kEfficient : Kernel::kMath;
  const bool takes = asked == Kernel::kFlash ? flash : efficient;
  if (!takes)
    throw usageError(std::string("--kernel ") + traces::name(asked) +
                     " does not take these tensors here (" + c10::toString(q.scalar_type()) +
                     ", head size " + std::to_string(q.size(3)) +
                     (fused ? "" : ", scores with a softcap") + "); use auto or math");
  return asked;
}

/// Attends with ATen's memory-efficient operator, which needs one key head per query head and
/// returns a padded lse.
AttentionResult attendPieceEfficient(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const Piece& piece, double scale) {
  const std::int64_t group = q.size(1) / k.size(1);
  const auto keys = [&](const at::Tensor& t) {
    return keyRows(t, piece).repeat_interleave(group, 1);
  };
  const auto result = at::_scaled_dot_product_efficient_attention(
      queryRows(q, piece), keys(k), keys(v), std::nullopt, true, 0.0, isCausal(piece), scale);
  return {std::get<0>(result), std::get<1>(result).slice(2, 0, piece.q_end - piece.q_begin)};
}

AttentionGradients attendPieceBackwardEfficient(const at::Tensor& dout, const at::Tensor& q,
                                                const at::Tensor& k, const at::Tensor& v,
                                                const AttentionResult& merged, const Piece& piece,
                                                double scale) {
  constexpr std::int64_t kLseUnit = 32;
  const std::int64_t rows = piece.q_end - piece.q_begin, group = q.size(1) / k.size(1);
  const auto keys = [&](const at::Tensor& t) {
    return keyRows(t, piece).repeat_interleave(group, 1);
  };
  const at::Tensor lse = at::constant_pad_nd(queryRows(merged.lse, piece),
                                             {0, (kLseUnit - rows % kLseUnit) % kLseUnit},
                                             std::numeric_limits<double>::infinity());
  const at::Tensor no_random_state = at::zeros({}, at::kLong);
  const auto [dq, dk, dv, no_bias] = at::_scaled_dot_product_efficient_attention_backward(
      queryRows(dout, piece), queryRows(q, piece), keys(k), keys(v), at::Tensor(),
      queryRows(merged.out, piece), lse, no_random_state, no_random_state, 0.0,
      {true, true, true, false}, isCausal(piece), scale);
  return {dq, perKeyHead(dk, k), perKeyHead(dv, k)};
}

AttentionResult attendPieceOnGpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const Piece& piece, double scale) {
  const auto result = at::_scaled_dot_product_flash_attention(queryRows(q, piece),
                                                              keyRows(k, piece), keyRows(v, piece),
                                                              0.0, isCausal(piece), false, scale);
  return {std::get<0>(result), std::get<1>(result)};
}

AttentionGradients attendPieceBackwardOnGpu(const at::Tensor& dout, const at::Tensor& q,
                                            const at::Tensor& k, const at::Tensor& v,
                                            const AttentionResult& merged, const Piece& piece,
                                            double scale) {
  const at::Tensor no_lengths;  // all sequences of a batch have the same length
  const at::Tensor no_random_state = at::zeros({}, q.options().dtype(at::kLong));
  auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_backward(
      queryRows(dout, piece), queryRows(q, piece), keyRows(k, piece), keyRows(v, piece),
      queryRows(merged.out, piece), queryRows(merged.lse, piece).contiguous(), no_lengths,
      no_lengths, piece.q_end - piece.q_begin, piece.k_end - piece.k_begin, 0.0, isCausal(piece),
      no_random_state, no_random_state, scale);
  return {dq, dk, dv};
}

}  // namespace

AttentionResult attendPiece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Piece& piece, const ScoreRule& rule, bool small_in_float,
                            Kernel kernel) {
  kernel = kernelFor(q, piece, rule, kernel);
  if (kernel == Kernel::kMath) return attendPiecePlain(q, k, v, piece, rule);
  if (kernel == Kernel::kEfficient) return attendPieceEfficient(q, k, v, piece, rule.scale);
  if (q.is_cuda()) return attendPieceOnGpu(q, k, v, piece, rule.scale);
  const at::ScalarType type = small_in_float && isSmall(q, piece) ? at::kFloat : q.scalar_type();
  const auto mask = additiveMask(piece, type);
  auto [out, lse] = at::_scaled_dot_product_flash_attention_for_cpu(
      queryRows(q, piece).to(type), keyRows(k, piece).to(type), keyRows(v, piece).to(type), 0.0,
      isCausal(piece), mask, rule.scale);
  AttentionResult block{out, lse};
  if (piece.hasEmptyRow()) clearRowsWithoutKeys(block, *mask);
  return block;
}

AttentionGradients attendPieceBackward(const at::Tensor& dout, const at::Tensor& q,
                                       const at::Tensor& k, const at::Tensor& v,
                                       const AttentionResult& merged, const Piece& piece,
                                       const ScoreRule& rule, bool small_in_float, Kernel kernel) {
  kernel = kernelFor(q, piece, rule, kernel);
  if (kernel == Kernel::kMath) return attendPiecePlainBackward(dout, q, k, v, merged, piece, rule);
  if (kernel == Kernel::kEfficient)
    return attendPieceBackwardEfficient(dout, q, k, v, merged, piece, rule.scale);
  if (q.is_cuda()) return attendPieceBackwardOnGpu(dout, q, k, v, merged, piece, rule.scale);
  const at::ScalarType type = small_in_float && isSmall(q, piece) ? at::kFloat : q.scalar_type();
  const auto mask = additiveMask(piece, type);
  at::Tensor lse = queryRows(merged.lse, piece);
  // A row without keys has lse -inf. exp(-inf - -inf) would be NaN; with lse 0 it is exp(-inf) = 0.
  if (mask) lse = lse.masked_fill(at::isneginf(lse), 0);
  auto rows = [&](const at::Tensor& t) { return queryRows(t, piece).to(type); };
  const std::int64_t copies = keyHeadCopiesOf(q, k, type);
  auto keys = [&](const at::Tensor& t) {
    const at::Tensor held = keyRows(t, piece).to(type);
    return copies == 1 ? held : held.repeat_interleave(copies, 1);
  };
  auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      rows(dout), rows(q), keys(k), keys(v), rows(merged.out), lse, 0.0, isCausal(piece), mask,
      rule.scale);
  return {dq, perKeyHead(dk, k), perKeyHead(dv, k)};
}

namespace {

/// Reports whether one call covers all rows.
bool isOneCall(const std::vector<Piece>& pieces, const at::Tensor& q) {
  return pieces.size() == 1 && pieces.front().q_end - pieces.front().q_begin == q.size(2);
}

}  // namespace

AttentionResult attendWhole(const at::Tensor& q, const std::vector<Piece>& pieces,
                            const AttendOne& attend) {
  if (isOneCall(pieces, q)) return attend(pieces.front(), traces::PieceIndex::of(0));
  RunningResult running = emptyRunningResult(q);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    mergeBlock(running, attend(pieces[i], traces::PieceIndex::of(i)), pieces[i].q_begin);
  return running;
}

AttentionGradients attendWholeBackward(const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const std::vector<Piece>& pieces,
                                       const AttendOneBackward& attend) {
  const Piece* only = isOneCall(pieces, q) ? &pieces.front() : nullptr;
  // If the piece does not cover all keys, dk and dv need zeros for the other keys, which it does
  // not return.
  if (only && only->k_end - only->k_begin == k.size(2))
    return attend(*only, traces::PieceIndex::of(0));
  const auto sums = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  auto zeros = [&](const at::Tensor& like) {
    return at::zeros(like.sizes(), like.options().dtype(sums));
  };
  const at::Tensor dq = zeros(q), dk = zeros(k), dv = zeros(v);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const AttentionGradients part = attend(piece, traces::PieceIndex::of(i));
    dq.slice(2, piece.q_begin, piece.q_end).add_(part.dq);
    dk.slice(2, piece.k_begin, piece.k_end).add_(part.dk);
    dv.slice(2, piece.k_begin, piece.k_end).add_(part.dv);
  }
  return {dq, dk, dv};
}

at::Tensor DeviceAttention::rounded(const at::Tensor& t) const {
  return fp8_ ? roundedToFp8(t) : t;
}

/// Returns the pieces of a single rank that owns all tokens.
std::vector<Piece> DeviceAttention::pieces(std::int64_t rows) const {
  return piecesFor(ShardLayout(rows, 1), mask_, GroupRank::of(0), GroupRank::of(0));
}

AttentionResult DeviceAttention::forward(const at::Tensor& q_in, const at::Tensor& k_in,
                                         const at::Tensor& v_in, Layer) {
  const at::Tensor q = rounded(q_in), k = rounded(k_in), v = rounded(v_in);
  AttentionResult result =
      attendWhole(q, pieces(q.size(2)), [&](const Piece& piece, traces::PieceIndex) {
        return attendPiece(q, k, v, piece, rule_, false, kernel_);
      });
  applySinks(result, sinks_);
  return {result.out.to(q.scalar_type()), result.lse};
}

AttentionGradients DeviceAttention::backward(const at::Tensor& dout, const at::Tensor& q_in,
                                             const at::Tensor& k_in, const at::Tensor& v_in,
                                             const AttentionResult& result, Layer) {
  const at::Tensor q = rounded(q_in), k = rounded(k_in), v = rounded(v_in);
  const AttentionGradients g =
      attendWholeBackward(q, k, v, pieces(q.size(2)), [&](const Piece& piece, traces::PieceIndex) {
        return attendPieceBackward(dout, q, k, v, result, piece, rule_, false, kernel_);
      });
  const auto type = q.scalar_type();
  return {g.dq.to(type), g.dk.to(type), g.dv.to(type)};
}

}  // namespace ringscope::engine
