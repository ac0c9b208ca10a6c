// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/block_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "engine/kernels/plain_attention.h"
#include "engine/kernels/reference.h"
#include "tests/support/expect_error.h"

namespace ringscope::engine {
namespace {

/// A setting of ATen's threads, as on a rank with this number of cores to itself.
class ThreadsOfARank {
 public:
  explicit ThreadsOfARank(int threads) { at::set_num_threads(threads); }
  ~ThreadsOfARank() { at::set_num_threads(before_); }
  ThreadsOfARank(const ThreadsOfARank&) = delete;
  ThreadsOfARank& operator=(const ThreadsOfARank&) = delete;

 private:
  const int before_ = at::get_num_threads();
};

struct Shape {
  std::int64_t batch, heads, kv_heads;
};

void expectNear(const at::Tensor& got, const at::Tensor& want, double limit, const char* what) {
  ASSERT_EQ(got.sizes(), want.sizes()) << what;
  EXPECT_LE((got.to(at::kDouble) - want).abs().max().item<double>(), limit) << what;
}

void expectGradientsOfFp64(const Shape& shape, const Piece& piece, at::ScalarType type) {
  constexpr std::int64_t kRows = 96, kWidth = 16;
  const auto random = [&](std::int64_t heads) {
    return at::randn({shape.batch, heads, kRows, kWidth}, at::kDouble).to(type).to(at::kDouble);
  };
  const at::Tensor q = random(shape.heads), dout = random(shape.heads), k = random(shape.kv_heads),
                   v = random(shape.kv_heads);
  const AttentionResult all = attendPiecePlain(q, k, v, piece, {0.25});
  const auto padded = [&](const at::Tensor& rows) {
    at::Tensor whole = at::zeros_like(rows.dim() == 4 ? q : q.select(3, 0));
    whole.slice(2, piece.q_begin, piece.q_end).copy_(rows);
    return whole;
  };
  const AttentionResult merged{padded(all.out), padded(all.lse)};
  const AttentionGradients want = attendPiecePlainBackward(dout, q, k, v, merged, piece, {0.25});
  const bool narrow = type == at::kBFloat16;
  const at::ScalarType sums = narrow ? at::kFloat : type;
  const AttentionGradients got = attendPieceBackward(
      dout.to(type), q.to(type), k.to(type), v.to(type), {merged.out.to(type), merged.lse.to(sums)},
      piece, {0.25}, false, Kernel::kAuto);
  const double limit = narrow ? 0.2 : type == at::kFloat ? 2e-5 : 1e-10;
  expectNear(got.dq, want.dq, limit, "dq");
  expectNear(got.dk, want.dk, limit, "dk");
  expectNear(got.dv, want.dv, limit, "dv");
}

TEST(BlockAttentionTest, GradientsAreThoseOfFp64HoweverManyThreadsARankHas) {
  using traces::PieceMask;
  at::manual_seed(11);
  const Piece full{0, 96, 16, 80, PieceMask::kFull, 0, 0},
      causal{32, 96, 16, 80, PieceMask::kCausal, 0, 0},
      window{0, 96, 0, 96, PieceMask::kTileMask, -20, 3};
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadsOfARank rank(threads);
    for (const Shape& shape : {Shape{1, 1, 1}, {1, 4, 1}, {1, 6, 2}, {2, 4, 2}, {3, 2, 1}})
      for (const Piece& piece : {full, causal, window})
        for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
          SCOPED_TRACE(testing::Message()
                       << threads << " threads, " << shape.heads << " heads of " << shape.kv_heads
                       << ", mask " << static_cast<int>(piece.mask) << ", " << c10::toString(type));
          expectGradientsOfFp64(shape, piece, type);
        }
  }
}

/// No piece of a run has such a row, but a piece from a changed schedule may.
TEST(BlockAttentionTest, ARowWithoutAKeyIsZeroAndMinusInfinity) {
  at::manual_seed(12);
  const Piece piece{0, 8, 0, 8, traces::PieceMask::kTileMask, -8, -1};
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const at::Tensor q = at::randn({1, 2, 8, 16}).to(type), k = at::randn({1, 1, 8, 16}).to(type);
    const AttentionResult block = attendPiece(q, k, k, piece, {0.25}, true, Kernel::kAuto);
    const at::Tensor first = block.out.select(2, 0), rest = block.lse.slice(2, 1);
    EXPECT_TRUE((first == 0).all().item<bool>()) << c10::toString(type);
    EXPECT_TRUE(at::isneginf(block.lse.select(2, 0)).all().item<bool>()) << c10::toString(type);
    EXPECT_TRUE(at::isfinite(rest).all().item<bool>()) << c10::toString(type);
  }
}

TEST(BlockAttentionTest, ScoresWithASoftcapAreThoseOfTheReference) {
  at::manual_seed(3);
  const ScoreRule rule{0.25, 1.5};
  const auto random = [](std::int64_t heads) { return at::randn({2, heads, 40, 8}, at::kDouble); };
  const at::Tensor q = random(4), k = random(2), v = random(2), dout = random(4);
  for (const Mask& mask : {Mask::full(), Mask::causalMask()}) {
    ReferenceAttention reference(mask, rule);
    DeviceAttention device(mask, rule);
    const AttentionResult want = reference.forward(q, k, v, Layer::of(0)),
                          got = device.forward(q, k, v, Layer::of(0));
    expectNear(got.out, want.out, 1e-12, "out");
    expectNear(got.lse, want.lse, 1e-12, "lse");
    EXPECT_GT((DeviceAttention(mask, {0.25}).forward(q, k, v, Layer::of(0)).out - want.out)
                  .abs()
                  .max()
                  .item<double>(),
              1e-2);
    const AttentionGradients gradients = reference.backward(dout, q, k, v, want, Layer::of(0)),
                             found = device.backward(dout, q, k, v, want, Layer::of(0));
    expectNear(found.dq, gradients.dq, 1e-12, "dq");
    expectNear(found.dk, gradients.dk, 1e-12, "dk");
    expectNear(found.dv, gradients.dv, 1e-12, "dv");
  }
}

TEST(BlockAttentionTest, AFusedKernelRefusesASoftcap) {
  const at::Tensor q = at::randn({1, 2, 16, 8});
  EXPECT_ERROR(DeviceAttention(Mask::full(), {0.25, 1.5}, false, {}, Kernel::kFlash)
                   .forward(q, q, q, Layer::of(0)),
               ErrorCode::kUsage, "scores with a softcap); use auto or math");
}

}  // namespace
}  // namespace ringscope::engine
