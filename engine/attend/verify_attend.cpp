// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/attend/attend.h"
#include "engine/attend/attend_reference.h"
#include "engine/attention/block_attention.h"
#include "engine/attention/reference.h"
#include "engine/attention/sinks.h"
#include "engine/verify/attended.h"
#include "engine/verify/error_measure.h"

namespace ringscope::engine {
namespace {

constexpr Layer kOnlyLayer = Layer::of(0);

traces::DiffRecord recordOf(const char* tensor, traces::Direction direction) {
  traces::DiffRecord diff;
  diff.place = {0, kOnlyLayer, direction, {}};
  diff.tensor = tensor;
  return diff;
}

/// Every head's sum over all queries, of errors of a known size.
traces::DiffRecord sinksRecord(const AttendInput& in, const at::Tensor& actual,
                               const LayerAttention& exact, const LayerAttention& one_device) {
  traces::DiffRecord diff = recordOf("dsinks", traces::Direction::kBackward);
  const at::Tensor rounding = sinkGradientRounding(in.sinks, in.dout, {exact.out, exact.lse},
                                                   unitRoundoff(in.q.scalar_type()))
                                  .to(at::kDouble)
                                  .cpu();
  // Merging rounds out once more than one device does.
  const at::Tensor squares = at::square(rounding);
  const at::Tensor none = at::zeros_like(rounding);
  const RowVariance variance{none, none, squares, 2 * squares};
  measureError(
      diff,
      {actual, sinkGradient(in.sinks, in.dout, {exact.out, exact.lse}),
       sinkGradient(in.sinks, in.dout, {one_device.out, one_device.lse}).to(actual.scalar_type())},
      &variance);
  return diff;
}

}  // namespace

AttendReference::AttendReference(const AttendInput& in, bool fp8, const at::Tensor& stored_out) {
  const LayerAttention inputs =
      asUsed({in.q, in.k, in.v, stored_out, {}, in.dout, {}, {}, {}}, fp8);
  ReferenceAttention reference(in.mask, in.scale, in.sinks);
  DeviceAttention device(in.mask, in.scale, false, in.sinks);
  exact = attended(reference, inputs);
  one_device = attended(device, inputs);
  variance = attentionVariance(exact, in.mask, in.scale, in.q.scalar_type());
}

std::vector<traces::DiffRecord> verifyAttend(const AttendInput& in, const AttendOutcome& outcome,
                                             bool fp8) {
  const AttendReference is(in, fp8, outcome.tensors.at("out"));
  std::vector<traces::DiffRecord> diffs;
  for (const AttendResult& result : kAttendResults) {
    if (!outcome.tensors.contains(result.name)) continue;
    const at::Tensor& actual = outcome.tensors.at(result.name);
    traces::DiffRecord diff = recordOf(result.name, result.direction);
    measureError(
        diff,
        {actual, is.exact.*result.values, (is.one_device.*result.values).to(actual.scalar_type())},
        &(is.variance.*result.variance));
    diffs.push_back(std::move(diff));
  }
  if (outcome.tensors.contains("dsinks"))
    diffs.push_back(sinksRecord(in, outcome.tensors.at("dsinks"), is.exact, is.one_device));
  return diffs;
}

}  // namespace ringscope::engine
