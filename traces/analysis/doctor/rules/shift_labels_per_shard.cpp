// SPDX-License-Identifier: Apache-2.0
// Compares each label with the next token of the sequence, on whichever rank that is.
#include "traces/analysis/doctor/label_reading.h"

namespace ringscope::traces {

RuleResult checkShiftLabelsPerShard(const Trace& trace) {
  const LabelReading labels = readLabels(trace);
  if (labels.are == LabelsAre::kUnknown || labels.are == LabelsAre::kOfOtherBatches ||
      labels.are == LabelsAre::kPerhapsPerShard)
    return unknownLabels(labels);
  if (labels.are == LabelsAre::kShiftedTwice)
    return undecided("needs labels that were shifted once; these were shifted twice");
  const bool twice = labels.are == LabelsAre::kTwicePerShard;
  if (labels.are != LabelsAre::kShiftedPerShard && !twice) return clear();
  Finding f;
  f.rule = "shift_labels_per_shard";
  f.severity = "error";
  f.confidence = labels.certain ? "certain" : "likely";
  f.title = "Labels were shifted after sharding";
  f.place = labels.place;
  f.rank = labels.rank;
  f.buffer = "labels";
  f.evidence =
      twice ? "Every label is the token after the next of its shard, not of the sequence: " +
                  std::to_string(labels.wrong) + " of " + std::to_string(labels.targets) +
                  " are not the next token."
            : "Every label is the next token of its shard, not of the sequence. Targets "
              "that are tokens of a later chunk: " +
                  std::to_string(labels.wrong) +
                  "; last tokens of a shard that lost theirs: " + std::to_string(labels.lost) + ".";
  f.remedy =
      "Shift labels once for the whole sequence, before it is cut, and shard them with the tokens: "
      "buffers=[input_ids, labels, …]; give the model shift_labels rather than labels to shift.";
  return found(std::move(f));
}

}  // namespace ringscope::traces
