// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/blocked_attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/kernels/reference.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kSequence = 16;

/// Random q, k, v and dout of two sequences and two heads.
struct BlockedInputs {
  BlockedInputs() {
    at::manual_seed(3);
    for (at::Tensor* t : {&q, &k, &v, &dout}) *t = at::randn({2, 2, kSequence, 8}, at::kDouble);
  }
  at::Tensor q, k, v, dout;
};

TEST(BlockedAttentionTest, BlocksOfEveryMaskAndBalanceGiveTheWholeAttention) {
  BlockedInputs in;
  for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped})
    for (const Mask& mask : {Mask::causalMask(), Mask::slidingWindow(5),
                             Mask::packed({0, 7, 11, kSequence}, kSequence)}) {
      BlockedAttention blocked(ShardLayout(kSequence, 4, balance), mask, {0.3}, false);
      ReferenceAttention whole(mask, {0.3});
      for (AttentionOp* op : std::initializer_list<AttentionOp*>{&blocked, &whole})
        op->setSinks(at::tensor({0.5, -1.0}, at::kDouble));
      const auto a = blocked.forward(in.q, in.k, in.v, Layer::of(0)),
                 b = whole.forward(in.q, in.k, in.v, Layer::of(0));
      EXPECT_TRUE(at::allclose(a.out, b.out)) << traces::name(mask.kind());
      EXPECT_TRUE(at::allclose(a.lse, b.lse)) << traces::name(mask.kind());
      const auto c = blocked.backward(in.dout, in.q, in.k, in.v, b, Layer::of(0)),
                 d = whole.backward(in.dout, in.q, in.k, in.v, b, Layer::of(0));
      EXPECT_TRUE(at::allclose(c.dq, d.dq)) << traces::name(mask.kind());
      EXPECT_TRUE(at::allclose(c.dk, d.dk)) << traces::name(mask.kind());
      EXPECT_TRUE(at::allclose(c.dv, d.dv)) << traces::name(mask.kind());
    }
}

}  // namespace
}  // namespace ringscope::engine
