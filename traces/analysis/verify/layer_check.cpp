// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/layer_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "traces/analysis/verify/hypotheses/hypothesis_check.h"
#include "traces/analysis/verify/recompute/dropped_part.h"
#include "traces/analysis/verify/recompute/meant_attention.h"
#include "traces/analysis/verify/recompute/precision.h"
#include "traces/analysis/verify/recompute/selection.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/declared.h"
#include "traces/format/trace/recorder_request.h"

namespace ringscope::traces {

std::vector<std::string> hindrances(const Trace& trace, const LayerTensors& layer,
                                    const IntentRecord* intent) {
  std::vector<std::string> reasons = layer.blocking;
  if (!intent)
    reasons.push_back("which mask was meant is not recorded");
  else if (intent->mask == MaskKind::kDocuments && intent->documents.empty())
    reasons.push_back("which documents the mask keeps apart is not recorded");
  if (trace.run() && trace.run()->dropout > 0)
    reasons.push_back("with dropout " + describeSignificant(trace.run()->dropout, 2) +
                      " the recording does not say which weights were dropped");
  return reasons;
}

double LayerCheck::worstRatio() const {
  return traces::worstRatio(tensors);
}

namespace {

/// Mistakes are tried on each further KV head with this part of a layer's work.
constexpr double kWorkOfOtherHead = 1.0 / 8;

/// Replaces checks by others of the same tensors that are nearer to what was recorded.
void takeNearer(std::vector<TensorCheck>& checks, const std::vector<TensorCheck>& others) {
  for (TensorCheck& check : checks)
    for (const TensorCheck& other : others)
      if (other.kind == check.kind && other.worst.ratio() < check.worst.ratio()) check = other;
}

/// Compares the selected rows with the attention of a mask and of the layer's scores and sinks.
/// Kernels begin backward with the stored out, and autograd with the out before it was rounded. A
/// recording that does not name its kernels may be of either.
void compareWith(const Trace& trace, const LayerTensors& layer, const AttentionMask& mask,
                 bool backward, LayerCheck& check) {
  const auto compare = [&](MeantAttention::Delta delta) {
    const MeantAttention meant(trace, layer, check.selection, mask, backward, delta);
    check.work += meant.work();
    return compareAll(trace, layer, check.selection, meant.values(), meant.limits());
  };
  check.scores = layer.scores;
  check.fitted_sinks = !layer.fitted_sinks.empty();
  check.tensors = compare(MeantAttention::Delta::kStored);
  if (backward && !check.widened.empty() && check.worstRatio() > 1)
    takeNearer(check.tensors, compare(MeantAttention::Delta::kExact));
}

/// Compares the selected rows with the fitted attention. If the output agrees with several masks,
/// the gradients decide between them.
void compareWithFitted(const Trace& trace, FittedAttention& found, bool backward,
                       LayerCheck& check) {
  compareWith(trace, found.layer, found.mask, backward, check);
  for (const AttentionMask& mask : found.other_masks) {
    if (check.worstRatio() <= 1) return;
    LayerCheck tried = check;
    compareWith(trace, found.layer, mask, backward, tried);
    check.work = tried.work;
    if (tried.worstRatio() >= check.worstRatio()) continue;
    found.mask = mask;
    check.tensors = std::move(tried.tensors);
  }
}

/// Leaves out gradients that differ little. In 16 bits the output agrees with several scales, and
/// gradients of q and k follow the scale.
void leaveOutVagueGradients(LayerCheck& check) {
  constexpr double kVague = 4;
  for (const TensorCheck& tensor : check.tensors)
    if (tensor.worst.ratio() > (isOfBackward(tensor) ? kVague : 1)) return;
  if (check.worstRatio() <= 1) return;
  std::erase_if(check.tensors, isOfBackward);
  check.skipped.emplace_back(
      "gradients: the recorded output agrees with several scales within rounding, and nothing "
      "recorded states which was meant");
}

/// Reports whether nothing but labels says which keys the attention of a job was meant to attend.
bool isMaskInferred(const Trace& trace) {
  const nlohmann::json& declared = trace.note(kDeclaredNote);
  return hasRecognisedAttention(trace) && !(declared.is_object() && declared.contains("mask"));
}

/// Reports whether a layer with this mistake is attention of other keys than were inferred. Models
/// attend within chunks, or tokens of parallel strands, on purpose.
bool attendsOtherKeys(const HypothesisCheck& mistake) {
  constexpr const char* kOfKeys[] = {"ring_bypassed", "no_skip_future_block",
                                     "causal_on_every_block"};
  return std::ranges::count(kOfKeys, mistake.mistake) > 0;
}

/// Reports whether a mistake that gives the worst KV head gives the others too, where they are
/// wrong in the same token.
bool givesAllHeads(const Trace& trace, const LayerTensors& layer, const AttentionMask& mask,
                   const LayerCheck& check, double work) {
  const std::string& mistake = check.hypotheses.reproduced()->mistake;
  const auto out = std::ranges::find(check.tensors, TensorKind::kOut, &TensorCheck::kind);
  if (out == check.tensors.end()) return true;
  std::set<std::int64_t> tried{out->worst.head / layer.groupSize()};
  for (std::size_t row = 0; row < out->ratios.size(); ++row) {
    const auto head = static_cast<std::int64_t>(headIndex(layer, check.selection, row));
    if (!(out->ratios[row] > 1) || !tried.insert(head / layer.groupSize()).second) continue;
    TensorCheck other = *out;
    other.worst.head = head;
    const auto tries =
        checkHypotheses(trace, layer, check.members, mask, {other}, work * kWorkOfOtherHead);
    if (!tries.reproduced() || tries.reproduced()->mistake != mistake) return false;
  }
  return true;
}

/// Finds the mask of recognised attention of which nothing states it. All rows of the recorded
/// output must agree with attention of all keys, or of all earlier keys.
std::optional<AttentionMask> shownMask(const Trace& trace, const LayerTensors& layer, double work) {
  if (!layer.blocking.empty() || !layer.complete(TensorKind::kOut) ||
      !hasRecognisedAttention(trace))
    return std::nullopt;
  for (const bool causal : {false, true}) {
    const AttentionMask mask{causal, 0, false, {}};
    std::vector<std::string> left_out;
    const Selection selection = selectRows(layer, mask, false, work, left_out);
    if (comparedOut(trace, layer, selection, mask).worst.ratio() <= 1) return mask;
  }
  return std::nullopt;
}

}  // namespace

LayerCheck checkLayer(const Trace& trace, const LayerPass& pass,
                      const std::vector<WorldRank>& members, double work) {
  LayerCheck check;
  check.pass = pass;
  check.members = members;
  const LayerTensors layer = findLayer(trace, pass, members);
  const IntentRecord* intent =
      members.empty() ? nullptr
                      : trace.intent(pass.train_step, members.front(), pass.layer, pass.microbatch);
  const auto shown = intent ? std::nullopt : shownMask(trace, layer, work);
  if (!shown) check.skipped = hindrances(trace, layer, intent);
  if (!check.skipped.empty()) return check;
  check.skipped = layer.missing;
  if (shown)
    check.skipped.push_back(std::string("the recorded output shows the mask: it agrees with "
                                        "attention of all ") +
                            (shown->causal ? "earlier keys" : "keys"));
  const bool backward = layer.complete(TensorKind::kDout);
  const AttentionMask mask = shown ? *shown : AttentionMask::of(*intent);
  check.mask = mask;
  check.selection = selectRows(layer, mask, backward, work, check.skipped);
  const Widening widening = limitWidening(trace, layer);
  check.widened = widening.reason;
  compareWith(trace, layer, mask, backward, check);
  FittedAttention found = fitAttention(trace, layer, check.selection, mask, check.tensors);
  check.fits = found.is;
  check.fits_words = found.words;
  check.dropped = found.dropped;
  check.stated_by = statedScores(trace, pass.layer, layer.head_dim).by;
  check.within_documents = found.is == AttentionFits::kOther && found.mask.by_document;
  check.vague_scores = widening.narrow_sums && check.stated_by == StatedBy::kNobody &&
                       found.layer.scores.scale == layer.scores.scale &&
                       found.layer.fitted_sinks.empty();
  if (found.is == AttentionFits::kOther) compareWithFitted(trace, found, backward, check);
  if (widening.narrow_sums && check.stated_by == StatedBy::kNobody) leaveOutVagueGradients(check);
  if (check.worstRatio() > 1)
    check.hypotheses =
        checkHypotheses(trace, found.layer, members, found.mask, check.tensors, work);
  const HypothesisCheck* reproduced = check.hypotheses.reproduced();
  if (reproduced && isMaskInferred(trace) && attendsOtherKeys(*reproduced)) {
    check.keys_may_be_meant = givesAllHeads(trace, found.layer, found.mask, check, work);
    if (!check.keys_may_be_meant) {
      check.hypotheses = {};
      reproduced = nullptr;
    }
  }
  if (reproduced && reproduced->may_be_meant) {
    check.tensors.clear();
    check.skipped.push_back("the recorded output agrees with attention in which " +
                            reproduced->how + ", and nothing recorded states what was meant");
  } else if (found.is == AttentionFits::kNothing && !reproduced) {
    check.tensors.clear();
    check.skipped.push_back(found.words);
  }
  return check;
}

}  // namespace ringscope::traces
