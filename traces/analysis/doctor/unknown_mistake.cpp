// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/unknown_mistake.h"

#include <algorithm>

#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/replica_drift.h"
#include "traces/analysis/doctor/unknown_number.h"
#include "traces/analysis/doctor/unknown_place.h"
#include "traces/analysis/doctor/wrong_rows.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/capture_advice.h"

namespace ringscope::traces {
namespace {

/// Its rows are those of tokens, which each cp rank owns some of.
bool hasTokens(const DiffRecord& diff) {
  return diff.place.layer.exists() || diff.tensor == "logits";
}

/// "sequence 0, head 1, token 40"; "(250, 38)" of a weight; empty of a single number.
std::string indexWords(const DiffRecord& diff) {
  static const std::vector<std::string> kNames[] = {{"sequence", "token"},
                                                    {"sequence", "head", "token"}};
  const auto& index = diff.worst_index;
  const bool is_number = diff.rows.codes.size() < 2;
  if (is_number || index.empty()) return "";
  std::string words;
  if (!hasTokens(diff) || index.size() < 2 || index.size() > 3) {
    for (const std::int64_t i : index) words += (words.empty() ? "" : ", ") + std::to_string(i);
    return "(" + words + ")";
  }
  const auto& names = kNames[index.size() - 2];
  for (std::size_t i = 0; i < index.size(); ++i)
    if (diff.place.layer.exists() || names[i] != "head")  // logits have none
      words.append(i ? ", " : "").append(names[i]).append(" ").append(std::to_string(index[i]));
  return words;
}

/// "its worst row (sequence 0, head 1, token 40, of cp rank 2)".
std::string worstRow(const DiffRecord& diff) {
  std::string words = indexWords(diff);
  if (const auto rank = worstCpRank(diff))
    words += (words.empty() ? "" : ", ") + ("of cp rank " + std::to_string(*rank));
  if (words.empty()) return "it";
  return (hasTokens(diff) ? "its worst row " : "its worst entry ") +
         (words.front() == '(' ? words : "(" + words + ")");
}

/// Describes the comparisons of the same step and kind that come before the wrong one.
std::string rightBefore(const Trace& trace, const DiffRecord& wrong) {
  const DiffRecord* last = nullptr;
  std::int64_t count = 0;
  for (const DiffRecord& diff : trace.diffs()) {
    if (diff.isolated != wrong.isolated || diff.place.train_step != wrong.place.train_step ||
        !comesBefore(diff, wrong))
      continue;
    ++count;
    if (!last || comesBefore(*last, diff)) last = &diff;
  }
  if (!last) return "Nothing was compared before it.";
  return (count == 1 ? "The comparison" : "All " + describeCount(count, "comparison")) +
         " before it " + (count == 1 ? "is" : "are") + " within rounding, the last of " +
         describe(*last) + ".";
}

bool isOfOneAttention(const DiffRecord& diff) {
  return diff.isolated && diff.place.layer.exists();
}

/// Describes the step's isolated verdicts about attention, which precede any other.
std::string ofAttention(const Trace& trace, const DiffRecord& wrong) {
  if (isOfOneAttention(wrong))
    return "Unsharded attention in fp64 of the very same inputs gives other numbers. ";
  const bool compared = std::ranges::any_of(trace.diffs(), [&](const DiffRecord& diff) {
    return isOfOneAttention(diff) && diff.place.train_step == wrong.place.train_step;
  });
  return compared ? "No attention of this step is wrong by itself. " : "";
}

/// Returns the parts that make a tensor, when the attentions themselves are right.
std::string maker(const DiffRecord& diff) {
  const std::string& tensor = diff.tensor;
  if (tensor == "rotary") return "the position ids and the rotary table";
  if (tensor == "q" || tensor == "k" || tensor == "v")
    return diff.place.layer == Layer::of(0)
               ? "tokens, embedding, norm, projections, position ids and the rotary table"
               : "what lies between the attention of the layer before and this one: projections, "
                 "residuals, MLP, norms, the rotary table";
  if (tensor == "logits") return "the last norm and the output projection";
  if (tensor == "loss") return "labels, the number of targets and how ranks sum the loss";
  if (tensor == "dout") return "labels, the loss's scale and the layers behind this one";
  if (tensor.ends_with("_norm")) return "which gradients the norm counts, and how often";
  if (tensor.starts_with("grad."))
    return "whether the parameter is part of the graph, and how ranks sum and scale its gradient";
  if (tensor.starts_with("update.")) return "the clip coefficient and the optimizer";
  return "what this layer's attention was given";
}

bool keepsValues(const Trace& trace) {
  return std::ranges::any_of(trace.tensors(),
                             [](const TensorRecord& tensor) { return tensor.has_values; });
}

std::string remedyFor(const Trace& trace, const DiffRecord& wrong) {
  if (!wrong.isolated || wrong.place.layer.isNone()) return "Look at " + maker(wrong) + ".";
  const std::string look =
      wrong.place.direction == Direction::kForward
          ? "Look at what this layer attends, merges and receives"
          : "Look at what this layer's backward is given (out, lse, delta), and at how dK and dV "
            "come home";
  return look + (keepsValues(trace)
                     ? ": Merge shows every block of a recorded row, and `ringscope verify` "
                       "computes recorded layers again."
                     : ". No values are kept; " + captureAdvice(trace, "full", "keeps them") +
                           ". Merge then shows every block of that row, and `ringscope verify` "
                           "computes the layer again.");
}

/// Returns the finding of replicas that an update has made unlike each other.
Finding driftOf(const ReplicaDrift& weights, const ReplicaDrift& gradients) {
  const std::string& parameter = weights.first->tensor.name;
  const bool tie = weights.odd.empty();
  Finding finding;
  finding.rule = kUnknownMistake;
  finding.title =
      "No rule names it: " + parameter + " is not the same on all ranks after the update";
  finding.place = weights.first->place;
  if (!tie) finding.rank = weights.odd.front();
  finding.buffer = weights.first->tensor.text();
  finding.evidence =
      "After the update of training step " + std::to_string(finding.place.train_step) + ", " +
      std::to_string(weights.differing) + " of " + describeCount(weights.parameters, "weight") +
      (weights.differing == 1 ? " is" : " are") + " not the same on all ranks that hold them" +
      (tie ? ""
           : ": " + rankWords(weights.odd) + (weights.odd.size() == 1 ? " is" : " are") +
                 " unlike most in " + parameter) +
      "." +
      (gradients.parameters > 0 && gradients.differing == 0
           ? " The gradients after the sync are the same on all of them."
           : "");
  finding.remedy =
      "Look at what each rank's clip and optimizer are given, and at what is done to weights "
      "after.";
  return finding;
}

}  // namespace

const DiffRecord* firstDivergence(const Trace& trace) {
  const DiffRecord* first = nullptr;
  for (const DiffRecord& diff : trace.diffs()) {
    if (!diverges(diff)) continue;
    const bool earlier = first && diff.place.train_step != first->place.train_step
                             ? diff.place.train_step < first->place.train_step
                             : first && comesBefore(diff, *first);
    if (!first || earlier) first = &diff;
  }
  return first;
}

std::optional<Finding> unknownMistake(const Readings& readings) {
  const Trace& trace = readings.trace();
  const DiffRecord* wrong = firstDivergence(trace);
  const ReplicaDrift weights = readDrift(trace, TensorKind::kWeight);
  if (weights.first && !weights.between_replicas &&
      (!wrong || weights.first->place.train_step < wrong->place.train_step))
    return driftOf(weights, readDrift(trace, TensorKind::kGradient));
  if (!wrong) return unknownNumber(readings);
  Finding finding;
  finding.rule = kUnknownMistake;
  finding.confidence =
      wrong->ratio < 2 ? Confidence::kLikely : Confidence::kCertain;  // NaN is certain
  finding.title =
      "No rule names it: " + describe(*wrong) +
      (isOfOneAttention(*wrong) ? " is wrong by itself" : " is the first that is wrong");
  finding.place = wrong->place;
  finding.rank = rankOfWorstRow(trace, *wrong);
  finding.buffer = wrong->tensor;
  finding.evidence = "In training step " + std::to_string(wrong->place.train_step) + " " +
                     worstRow(*wrong) + " is off by " + describeSignificant(wrong->error, 2) +
                     ", " + describeMultiple(wrong->ratio) + " what rounding explains. " +
                     ofAttention(trace, *wrong) + rightBefore(trace, *wrong);
  for (const std::string& words :
       {wrongRowsWords(*wrong), placeInAttention(trace, *wrong, finding)})
    if (!words.empty()) finding.evidence += " " + words;
  finding.remedy = remedyFor(trace, *wrong);
  return finding;
}

}  // namespace ringscope::traces
