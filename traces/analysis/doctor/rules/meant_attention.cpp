// SPDX-License-Identifier: Apache-2.0
// Parts of the meant attention that are missing in recorded output, of jobs that compute attention
// themselves.
#include <algorithm>

#include "traces/analysis/doctor/idle_sinks.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// A part that attention can lack, and the words of its finding.
struct MissingPart {
  DroppedPart part;
  const char *title, *remedy;
};

constexpr MissingPart kScale = {
    DroppedPart::kScale, "Attention ignores the scale that is stated",
    "Give the scale to the function that attends the blocks, forward and backward: "
    "scaled_dot_product_attention(…, scale=scale), softmax_scale=scale."};

constexpr MissingPart kSoftcap = {
    DroppedPart::kSoftcap, "Attention leaves out the softcap that is stated",
    "Give the softcap to the function that attends the blocks (softcap=…, or a score_mod), and use "
    "its derivative in backward; refuse a kernel that cannot cap scores."};

constexpr MissingPart kSinks = {
    DroppedPart::kSinks, "Attention leaves out the layer's sinks",
    "Give the sinks to attention (s_aux, softmax_offset, learnable_sink). In a ring, add exp(sink) "
    "to the denominator once, after all blocks are merged."};

constexpr MissingPart kOneSink = {
    DroppedPart::kOneSink, "Sinks are counted once per block",
    "Attend each block without sinks, merge all blocks by their log-sum-exps, and add exp(sink) to "
    "the denominator once at the end."};

constexpr MissingPart kHeads = {
    DroppedPart::kHeads, "Sinks are those of other heads",
    "Cut the sinks along the heads as the all-to-all does: sinks.chunk(ranks)[rank] for the heads "
    "that the rank attends."};

constexpr MissingPart kEmpty = {
    DroppedPart::kEmpty, "Blocks without keys take part in the softmax",
    "Begin with out = 0 and a log-sum-exp of −∞, and return the same for a block without keys; or "
    "do not merge such blocks at all."};

/// A run of the engine declares all that is meant, and an argument of attention is meant for
/// certain. An attribute of a module is taken for its scale.
Confidence confidenceIn(const Trace& trace, const LayerCheck& layer) {
  const bool is_declared = trace.run() && trace.run()->command != Command::kImport;
  const bool of_call = layer.dropped == DroppedPart::kScale && layer.stated_by == StatedBy::kCall;
  return is_declared || of_call ? Confidence::kCertain : Confidence::kLikely;
}

Finding findingAt(const Trace& trace, const LayerCheck& layer, const MissingPart& missing,
                  std::string others) {
  const TensorCheck& out = layer.tensors.front();
  return {.confidence = confidenceIn(trace, layer),
          .title = missing.title,
          .place = {layer.pass.train_step, layer.pass.layer, Direction::kForward, {}},
          .rank = out.worst.rank,
          .buffer = "out",
          .evidence = "Computed again in fp64, " + layer.fits_words +
                      ". With what is stated, out "
                      "is off by up to " +
                      describeRatio(out.worst.ratio()) + " what rounding explains. " +
                      std::move(others),
          .remedy = missing.remedy};
}

RuleResult answerAbout(const Readings& readings, const MissingPart& missing) {
  const std::vector<LayerCheck>& layers = readings.computedLayers();
  const auto lacks = [&](const LayerCheck& layer) { return layer.dropped == missing.part; };
  const auto compared = [](const LayerCheck& layer) { return !layer.tensors.empty(); };
  const auto first = std::ranges::find_if(layers, lacks);
  const auto all = std::ranges::count_if(layers, compared);
  if (first != layers.end())
    return found(findingAt(readings.trace(), *first, missing,
                           std::to_string(std::ranges::count_if(layers, lacks)) + " of " +
                               describeCount(all, "computed layer") + " lack it."));
  if (all == 0) return notObservable("needs q, k, v and out of attention with their values");
  const bool right = std::ranges::all_of(layers, [&](const LayerCheck& layer) {
    return compared(layer) && layer.tensors.front().worst.ratio() <= 1;
  });
  return right ? clear()
               : undecided(
                     "needs attention that agrees with some scale, mask and sinks; of some "
                     "layers none is known");
}

}  // namespace

RuleResult checkAttentionScaleDropped(const Readings& readings) {
  return answerAbout(readings, kScale);
}

RuleResult checkSoftcapDropped(const Readings& readings) {
  return answerAbout(readings, kSoftcap);
}

RuleResult checkSinksDropped(const Readings& readings) {
  return answerAbout(readings, kSinks);
}

RuleResult checkSinksOnEveryBlock(const Readings& readings) {
  return answerAbout(readings, kOneSink);
}

RuleResult checkSinksNotCutByHeads(const Readings& readings) {
  if (auto finding = sinksOfFirstHeads(readings.trace())) return found(std::move(*finding));
  return answerAbout(readings, kHeads);
}

RuleResult checkNeutralElementWrong(const Readings& readings) {
  return answerAbout(readings, kEmpty);
}

}  // namespace ringscope::traces
