// SPDX-License-Identifier: Apache-2.0
// Batches and labels: which sequences ranks read, and which token is the label of which.
#include <map>
#include <set>
#include <vector>

#include "traces/analysis/doctor/label_reading.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/other_tensors.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {

// different_batches_on_cp_ranks: ranks of a cp group cut different batches, by the hashes of the
// batches, or else by the labels at the borders of shards.
namespace {

Finding differentBatchesOnCpRanksFinding(const Place& place, WorldRank rank, std::string evidence,
                                         Confidence confidence) {
  return {
      .confidence = confidence,
      .title = "Ranks of one cp group work on different batches",
      .place = place,
      .rank = rank,
      .buffer = "input_ids",
      .evidence = std::move(evidence),
      .remedy =
          "Give the sampler the size and rank of dp alone (num_replicas=dp_size, rank=dp_rank), so "
          "that all cp ranks of a dp rank read the same sequences before they are cut."};
}

const TensorRecord* wholeBatch(const Trace& trace, std::int32_t train_step, WorldRank rank) {
  return trace.findTensor({TensorKind::kOther, kWholeBatch}, {train_step}, rank);
}

std::set<std::int32_t> stepsWithBatches(const Trace& trace) {
  std::set<std::int32_t> steps;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor == TensorName{TensorKind::kOther, kWholeBatch})
      steps.insert(tensor.place.train_step);
  return steps;
}

/// Judges without the batch: a label whose token another rank has is not that token.
RuleResult byLabels(const Readings& readings) {
  const LabelReading& labels = readings.labels();
  if (labels.are == LabelsAre::kOfOtherBatches)
    return found(differentBatchesOnCpRanksFinding(
        labels.place, labels.rank,
        "Labels are the next tokens, save " + std::to_string(labels.wrong) +
            " whose next token another rank of the group holds: that one has "
            "other sequences. This assumes that a shard's last target is the next shard's first "
            "token. If each shard is a sequence, declare={\"positions\": \"each_document\"} says "
            "so.",
        Confidence::kLikely));
  return notObservable("needs the hash of each rank's whole batch (batch.input_ids)");
}

}  // namespace

RuleResult checkDifferentBatchesOnCpRanks(const Readings& readings) {
  const Trace& trace = readings.trace();
  if (const auto answer = answerWithoutCp(trace)) return *answer;
  bool compared = false;
  const auto groups = sequenceGroups(trace);
  const bool known = !trace.groups().empty();  // else dp ranks would be among them
  for (const std::int32_t train_step : stepsWithBatches(trace))
    for (const auto& members : groups) {
      const TensorRecord* first = nullptr;
      for (const WorldRank rank : members) {
        const TensorRecord* batch = wholeBatch(trace, train_step, rank);
        if (!batch || !known) continue;
        if (!first) first = batch;
        compared = compared || batch != first;
        if (batch->hash != first->hash)
          return found(differentBatchesOnCpRanksFinding(
              {train_step}, rank,
              "The token ids of the whole batch are others on rank " + toString(rank) +
                  " than on rank " + toString(first->rank) +
                  ", so the shards are of different sequences.",
              Confidence::kCertain));
      }
    }
  return compared ? clear() : byLabels(readings);
}

// same_batch_on_dp_ranks: the ranks of a dp group hold the same part of the same sequences. In one
// step this may be chance, or the data has no other sequences. Two steps in a row with different
// sequences are needed, anywhere in the run.
namespace {

/// The hash of each rank's token ids.
using Batch = std::map<WorldRank, std::uint64_t>;
using Batches = std::map<std::int32_t, Batch>;  ///< by training step

Batches readBatches(const Trace& trace) {
  Batches batches;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor == TensorName{TensorKind::kBuffer, "input_ids"})
      batches[tensor.place.train_step][tensor.rank] = tensor.hash;
  return batches;
}

/// The pairs of dp ranks that were compared in one step, over all dp groups.
struct DpPairs {
  int pairs = 0, alike = 0;
};

DpPairs comparePairs(const Trace& trace, const Batch& of_rank) {
  DpPairs step;
  for (const GroupRecord& group : trace.groups()) {
    if (group.axis != GroupAxis::kDp || group.members.size() < 2) continue;
    const auto first = of_rank.find(group.members.front());
    for (std::size_t i = 1; i < group.members.size(); ++i) {
      const auto other = of_rank.find(group.members[i]);
      if (first == of_rank.end() || other == of_rank.end()) continue;
      ++step.pairs;
      step.alike += first->second == other->second;
    }
  }
  return step;
}

/// Steps in a row in which all dp ranks have the same batch.
struct Streak {
  std::vector<std::int32_t> steps;
  std::set<Batch> different;
  int pairs = 0;

  bool tells() const { return different.size() > 1; }
};

Finding sameBatchOnDpRanksFinding(const Streak& streak) {
  return {.confidence = Confidence::kLikely,
          .title = "All dp ranks read the same batch",
          .place = {streak.steps.front()},
          .buffer = "input_ids",
          .evidence = "In each of " + std::to_string(streak.steps.size()) + " training steps, " +
                      std::to_string(streak.steps.front()) + " to " +
                      std::to_string(streak.steps.back()) +
                      ", the ranks that should hold other sequences hold the same token ids (" +
                      describeCount(streak.pairs, "pair") + "), though " +
                      std::to_string(streak.different.size()) +
                      " different batches are among them: the gradients of one batch are counted "
                      "several times.",
          .remedy =
              "Give the sampler the size and rank of dp (num_replicas=dp_size, rank=dp_rank) and "
              "call set_epoch, or cut the global batch by dp rank."};
}

}  // namespace

RuleResult checkSameBatchOnDpRanks(const Trace& trace) {
  if (trace.run() && trace.run()->dp == 1) return clear();
  bool compared = false, any_alike = false;
  Streak streak;
  for (const auto& [train_step, of_rank] : readBatches(trace)) {
    const DpPairs step = comparePairs(trace, of_rank);
    if (step.pairs == 0) continue;
    compared = true;
    if (step.alike < step.pairs) {
      if (streak.tells()) break;
      streak = {};
      continue;
    }
    any_alike = true;
    streak.steps.push_back(train_step);
    streak.different.insert(of_rank);
    streak.pairs = step.pairs;
  }
  if (!compared) return notObservable("needs the token ids of several dp ranks, and their groups");
  if (streak.tells()) return found(sameBatchOnDpRanksFinding(streak));
  if (!any_alike) return clear();
  return undecided(
      "needs two training steps in a row with different batches; in one, dp ranks may have the "
      "same by right, as where there is only one to learn");
}

// shift_labels_per_shard: a label is the next token of the shard and not of the sequence.
constexpr const char* kAssumedDocuments =
    " This assumes that no document ends with a shard. If some do, "
    "declare={\"positions\": \"each_document\"} says so.";

RuleResult checkShiftLabelsPerShard(const Readings& readings) {
  const LabelReading& labels = readings.labels();
  if (labels.are == LabelsAre::kUnknown || labels.are == LabelsAre::kOfOtherBatches ||
      labels.are == LabelsAre::kPerhapsPerShard || labels.are == LabelsAre::kCutOtherwise)
    return unknownLabels(labels);
  if (labels.are == LabelsAre::kShiftedTwice)
    return undecided("needs labels that were shifted once; these were shifted twice");
  const bool twice = labels.are == LabelsAre::kTwicePerShard;
  if (labels.are != LabelsAre::kShiftedPerShard && !twice) return clear();
  return found(
      {.confidence = labels.certain ? Confidence::kCertain : Confidence::kLikely,
       .title = "Labels were shifted after sharding",
       .place = labels.place,
       .rank = labels.rank,
       .buffer = "labels",
       .evidence =
           twice ? "Every label is the token after the next of its shard, not of the sequence: " +
                       std::to_string(labels.wrong) + " of " + std::to_string(labels.targets) +
                       " are not the next token."
                 : "Every label is the next token of its shard, not of the sequence. Targets "
                   "that are tokens of a later chunk: " +
                       std::to_string(labels.wrong) +
                       "; last tokens of a shard that lost theirs: " + std::to_string(labels.lost) +
                       "." +
                       (labels.wrong == 0 && isForeign(readings.trace()) ? kAssumedDocuments : ""),
       .remedy = "Shift labels once for the whole sequence, before it is cut, and shard them with "
                 "the tokens: buffers=[input_ids, labels, …]; give the model shift_labels rather "
                 "than labels to shift."});
}

// labels_shifted_twice: a label is the token after the next.
RuleResult checkLabelsShiftedTwice(const Readings& readings) {
  const LabelReading& labels = readings.labels();
  if (labels.are == LabelsAre::kUnknown || labels.are == LabelsAre::kOfOtherBatches ||
      labels.are == LabelsAre::kCutOtherwise)
    return unknownLabels(labels);
  const bool within_shard = labels.are == LabelsAre::kTwicePerShard;
  if (labels.are != LabelsAre::kShiftedTwice && !within_shard) return clear();
  return found(
      {.title = "Labels are shifted by two tokens",
       .place = labels.place,
       .rank = labels.rank,
       .buffer = "labels",
       .evidence = std::to_string(labels.wrong) + " of " + std::to_string(labels.targets) +
                   " labels differ from the next token; all of them are " +
                   (within_shard ? "the token after the next of those that the rank holds."
                                 : "what the next token should have as its label."),
       .remedy = "Labels that are shifted before sharding go to the loss as they are: use a loss "
                 "that does not shift (shift_labels), or shift in the model alone."});
}

}  // namespace ringscope::traces
