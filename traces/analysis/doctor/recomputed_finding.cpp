// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/recomputed_finding.h"

#include <algorithm>
#include <cctype>

#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/analysis/doctor/wrong_rows.h"
#include "traces/analysis/verify/hypotheses/hypothesis.h"
#include "traces/analysis/verify/trace_check.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/token_runs.h"

namespace ringscope::traces {
namespace {

/// Multiply-adds: about two seconds of one core.
constexpr double kRecomputedWork = 1e9;
constexpr double kRecomputedWorkOfRun = 1e8;  ///< other rules judge its recorded stages

/// Returns the first wrong tensor of a layer; null: all are right.
const TensorCheck* firstWrong(const LayerCheck& layer) {
  const auto wrong = std::ranges::find_if(
      layer.tensors, [](const TensorCheck& tensor) { return tensor.worst.ratio() > 1; });
  return wrong == layer.tensors.end() ? nullptr : &*wrong;
}

Finding findingAt(const LayerCheck& layer, Direction direction) {
  Finding finding;
  finding.rule = kUnknownMistake;
  finding.place = {layer.pass.train_step, layer.pass.layer, direction, {}};
  finding.confidence = Confidence::kLikely;
  return finding;
}

std::string sentence(std::string words) {
  if (!words.empty()) words[0] = static_cast<char>(std::toupper(words[0]));
  return words + ".";
}

/// Returns a finding of a layer whose output shows another attention than others or than documents.
Finding ofAttention(const LayerCheck& layer) {
  Finding finding = findingAt(layer, Direction::kForward);
  finding.buffer = "out";
  const bool documents = layer.fits == AttentionFits::kDocuments;
  if (documents) finding.rule = "documents_ignored";
  finding.title = documents ? "Attention crosses the borders of documents that positions show"
                            : "No rule names it: attention of layer " + toString(layer.pass.layer) +
                                  " is unlike that of other layers";
  finding.evidence = "Computed again in fp64, " + layer.fits_words + ".";
  finding.remedy =
      documents ? "Give attention the borders of the documents (cu_seqlens, or a block-diagonal "
                  "mask), or declare the mask that is meant: declare={\"mask\": \"causal\"}."
                : "Look at the scale, softcap and sinks that this layer's attention is given.";
  return finding;
}

/// Returns a finding of a layer that attends keys before the window which its module states.
Finding ofWindow(const LayerCheck& layer) {
  Finding finding = findingAt(layer, Direction::kForward);
  finding.rule = "mask_dropped";
  finding.buffer = "out";
  finding.title = "Attention leaves out the window that is stated";
  finding.evidence = "Computed again in fp64, " + layer.fits_words + ".";
  finding.remedy =
      "Give the window to the function that attends the blocks, and mask earlier keys in every "
      "block by the tokens of the whole sequence.";
  return finding;
}

/// Returns a finding of a wrong tensor.
Finding ofTensor(const LayerCheck& layer, const TensorCheck& wrong) {
  const bool forward = wrong.kind == TensorKind::kOut || wrong.kind == TensorKind::kLse;
  Finding finding = findingAt(layer, forward ? Direction::kForward : Direction::kBackward);
  const RowError& worst = wrong.worst;
  finding.rank = worst.rank;
  finding.buffer = name(wrong.kind);
  finding.title = std::string("No rule names it: ") + name(wrong.kind) + " of layer " +
                  toString(layer.pass.layer) + " is not what attention gives";
  const auto wrong_rows = std::ranges::count_if(wrong.ratios, [](float r) { return r > 1; });
  finding.evidence = "Computed again in fp64 from the recorded q, k, v and dout, " +
                     describeCount(wrong_rows, "row") + " of " + describeCount(wrong.rows) +
                     " of " + name(wrong.kind) + (wrong_rows == 1 ? " is" : " are") +
                     " wrong, on " + rankWords(wrong.wrong_ranks) + "; the worst, at token " +
                     toString(worst.token) + ", head " + std::to_string(worst.head) +
                     ", batch entry " + std::to_string(worst.batch) + " of rank " +
                     toString(worst.rank) + ", is off by " + describeRatio(worst.ratio()) +
                     " what rounding explains.";
  if (!layer.fits_words.empty()) finding.evidence += " " + sentence(layer.fits_words);
  finding.remedy = forward ? "Look at what this layer attends, merges and receives, and at its "
                             "scale, softcap and sinks."
                           : "Look at what this layer's backward is given (out, lse, delta, "
                             "scale), and at how dK and dV come home.";
  if (const HypothesisCheck* mistake = layer.hypotheses.reproduced()) {
    finding.rule = mistake->mistake;
    finding.title = "The layer is what " + mistake->mistake + " gives";
    if (!mistake->how.empty())
      finding.evidence += " It is what this mistake gives if " + mistake->how + ".";
    if (layer.keys_may_be_meant)
      finding.evidence +=
          " That these keys were not meant is inferred from the labels: chunks or strands as long "
          "as shards give the same. ringscope.record(…, declare={\"mask\": …}) settles it.";
    if (!layer.hypotheses.assumed.empty()) finding.evidence += " " + layer.hypotheses.assumed + ".";
  }
  return finding;
}

}  // namespace

std::vector<LayerCheck> recomputeLayers(const Trace& trace) {
  if (!trace.run()) return {};
  const bool is_job = trace.run()->command == Command::kImport;
  return checkLayers(trace, is_job ? kRecomputedWork : kRecomputedWorkOfRun).layers;
}

std::optional<Finding> recomputedFinding(const Readings& readings) {
  std::optional<Finding> suspected;
  for (const LayerCheck& layer : readings.layers()) {
    if (const TensorCheck* wrong = firstWrong(layer)) return ofTensor(layer, *wrong);
    if (layer.dropped == DroppedPart::kWindow && !suspected) suspected = ofWindow(layer);
    const bool suspect = layer.unlike_other_layers || layer.fits == AttentionFits::kDocuments;
    if (suspect && !suspected) suspected = ofAttention(layer);
  }
  return suspected;
}

void takeBackWhatIsRight(const Readings& readings, std::vector<Diagnosis::Entry>& entries) {
  for (Diagnosis::Entry& entry : entries) {
    const bool computed = std::ranges::any_of(hypotheses(), [&](const Hypothesis& one) {
      return one.mistake == entry.rule && !one.undescribed;
    });
    if (entry.result.findings.empty() || !computed) continue;
    const Finding& finding = entry.result.findings.front();
    for (const LayerCheck& layer : readings.layers()) {
      const bool same = layer.pass.train_step == finding.place.train_step &&
                        layer.pass.layer == finding.place.layer &&
                        std::ranges::count(layer.members, finding.rank) > 0;
      const std::size_t needed = finding.place.direction == Direction::kForward ? 1 : 3;
      if (!same || layer.tensors.size() < needed || !layer.right()) continue;
      entry.result = undecided("needs attention that is wrong; at " + describe(finding.place) +
                               " it is right when it is computed again");
      break;
    }
  }
}

}  // namespace ringscope::traces
