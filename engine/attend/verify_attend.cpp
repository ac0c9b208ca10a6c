// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/attend/attend.h"
#include "engine/attend/attend_reference.h"
#include "engine/kernels/block_attention.h"
#include "engine/kernels/reference.h"
#include "engine/verify/attended.h"
#include "engine/verify/attention_on_device.h"
#include "engine/verify/error_measure.h"
#include "engine/verify/sink_error.h"

namespace ringscope::engine {
namespace {

traces::DiffRecord recordOf(const char* tensor, traces::Direction direction) {
  traces::DiffRecord diff;
  diff.place = {0, kOnlyLayer, direction, {}};
  diff.tensor = tensor;
  return diff;
}

}  // namespace

AttendReference::AttendReference(const AttendInput& in, bool fp8, const at::Tensor& stored_out,
                                 traces::Device where, const std::optional<MergedBlocks>& blocks) {
  LayerAttention inputs = asUsed({in.q, in.k, in.v, stored_out, {}, in.dout, {}, {}, {}}, fp8);
  inputs.sinks = in.sinks;
  ReferenceAttention reference(in.mask, {in.scale}, in.sinks);
  AttentionOnDevice device(std::make_unique<DeviceAttention>(in.mask, ScoreRule{in.scale}), where);
  device.setSinks(in.sinks);
  exact = attended(reference, inputs);
  one_device = attended(device, inputs);
  const auto length = static_cast<std::size_t>(in.q.size(2));
  variance = attentionVariance(exact, in.mask, blocks ? *blocks : MergedBlocks::whole(length),
                               {in.scale}, in.q.scalar_type());
}

std::vector<traces::DiffRecord> verifyAttend(const AttendInput& in, const AttendOutcome& outcome,
                                             bool fp8) {
  const AttendReference is(in, fp8, outcome.tensors.at("out"), outcome.device, outcome.blocks);
  std::optional<QuantisationError> quantisation;
  if (fp8) {
    ReferenceAttention exact(in.mask, {in.scale}, in.sinks);
    quantisation.emplace(exact, LayerAttention{in.q, in.k, in.v, {}, {}, in.dout, {}, {}, {}});
  }
  std::vector<traces::DiffRecord> diffs;
  for (const AttendResult& result : kAttendResults) {
    if (!outcome.tensors.contains(result.name)) continue;
    const at::Tensor& actual = outcome.tensors.at(result.name);
    traces::DiffRecord diff = recordOf(result.name, result.direction);
    measureError(
        diff,
        {actual, is.exact.*result.values, (is.one_device.*result.values).to(actual.scalar_type())},
        &(is.variance.*result.variance));
    if (quantisation) diff.quantisation = quantisation->of(result.values);
    diffs.push_back(std::move(diff));
  }
  if (outcome.tensors.contains("dsinks")) {
    diffs.push_back(recordOf("dsinks", traces::Direction::kBackward));
    LayerAttention used;
    used.dout = in.dout;
    used.out = outcome.tensors.at("out");
    used.lse = outcome.tensors.at("lse");
    measureSinkGradient(diffs.back(), outcome.tensors.at("dsinks"), in.sinks, used);
  }
  return diffs;
}

}  // namespace ringscope::engine
