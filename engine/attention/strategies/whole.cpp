// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/whole.h"

#include <ATen/ATen.h>

#include "engine/kernels/fp8.h"

namespace ringscope::engine {

using traces::Direction;
using traces::Place;

WholeAttention::WholeAttention(RankContext& context, const ShardLayout& layout, const Mask& mask,
                               const Softmax& softmax, bool fp8)
    : ContextParallelOp(context),
      layout_(layout.joined(1)),
      mask_(mask),
      fp8_(fp8),
      schedule_(ringSchedule(layout_, mask, GroupRank::of(0))),
      worker_(context, softmax, Group(context.cp, {context.rank()}), layout_) {}

at::Tensor WholeAttention::rounded(const at::Tensor& t) const {
  return fp8_ ? roundedToFp8(t) : t;
}

std::vector<Piece> WholeAttention::piecesAt(const Place& place) {
  context_.arriveAt(place);
  const auto schedule = scheduleFor(schedule_, {layout_, mask_}, place.layer, place.direction);
  return schedule.stages.front().pieces;
}

AttentionResult WholeAttention::forward(const at::Tensor& q, const at::Tensor& k,
                                        const at::Tensor& v, Layer layer) {
  const Place place = placeFor(RingStep::of(0), layer, Direction::kForward);
  const auto pieces = piecesAt(place);
  AttentionResult result = worker_.attendWhole(pieces, place, rounded(q), rounded(k), rounded(v));
  return worker_.finished({std::move(result.out), std::move(result.lse)}, q, sinks_, place);
}

AttentionGradients WholeAttention::backwardSums(const at::Tensor& dout, const at::Tensor& q,
                                                const at::Tensor& k, const at::Tensor& v,
                                                const AttentionResult& result, Layer layer) {
  const Place place = placeFor(RingStep::of(0), layer, Direction::kBackward);
  const auto pieces = piecesAt(place);
  return worker_.attendWholeBackward(pieces, place, dout, rounded(q), rounded(k), rounded(v),
                                     result);
}

}  // namespace ringscope::engine
