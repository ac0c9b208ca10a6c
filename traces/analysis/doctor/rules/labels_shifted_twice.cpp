// SPDX-License-Identifier: Apache-2.0
// Compares each label with the next token of the sequence and with the one after it.
#include "traces/analysis/doctor/label_reading.h"

namespace ringscope::traces {

RuleResult checkLabelsShiftedTwice(const Trace& trace) {
  const LabelReading labels = readLabels(trace);
  if (labels.are == LabelsAre::kUnknown || labels.are == LabelsAre::kOfOtherBatches)
    return unknownLabels(labels);
  const bool within_shard = labels.are == LabelsAre::kTwicePerShard;
  if (labels.are != LabelsAre::kShiftedTwice && !within_shard) return clear();
  Finding f;
  f.rule = "labels_shifted_twice";
  f.severity = "error";
  f.confidence = "certain";
  f.title = "Labels are shifted by two tokens";
  f.place = labels.place;
  f.rank = labels.rank;
  f.buffer = "labels";
  f.evidence = std::to_string(labels.wrong) + " of " + std::to_string(labels.targets) +
               " labels differ from the next token; all of them are " +
               (within_shard ? "the token after the next of those that the rank holds."
                             : "what the next token should have as its label.");
  f.remedy =
      "Labels that are shifted before sharding go to the loss as they are: use a loss that does "
      "not shift (shift_labels), or shift in the model alone.";
  return found(std::move(f));
}

}  // namespace ringscope::traces
