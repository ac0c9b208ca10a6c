// SPDX-License-Identifier: Apache-2.0
// All ranks of a cp group cut one batch: its hash, or else the labels at the borders of shards,
// tell.
#include <set>

#include "traces/analysis/doctor/label_reading.h"
#include "traces/format/schema/other_tensors.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

Finding finding(const Place& place, WorldRank rank, std::string evidence, const char* confidence) {
  Finding f;
  f.rule = "different_batches_on_cp_ranks";
  f.severity = "error";
  f.confidence = confidence;
  f.title = "Ranks of one cp group work on different batches";
  f.place = place;
  f.rank = rank;
  f.buffer = "input_ids";
  f.evidence = std::move(evidence);
  f.remedy =
      "Give the sampler the size and rank of dp alone (num_replicas=dp_size, rank=dp_rank), so "
      "that all cp ranks of a dp rank read the same sequences before they are cut.";
  return f;
}

const TensorRecord* batchOf(const Trace& trace, std::int32_t train_step, WorldRank rank) {
  return trace.findTensor({TensorKind::kOther, kWholeBatch}, {train_step}, rank);
}

std::set<std::int32_t> stepsOf(const Trace& trace) {
  std::set<std::int32_t> steps;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor == TensorName{TensorKind::kOther, kWholeBatch})
      steps.insert(tensor.place.train_step);
  return steps;
}

/// Without the batch itself: a label whose token another rank has is not that token.
RuleResult byLabels(const Trace& trace) {
  const LabelReading labels = readLabels(trace);
  if (labels.are == LabelsAre::kOfOtherBatches)
    return found(finding(labels.place, labels.rank,
                         "Labels are the next tokens, save " + std::to_string(labels.wrong) +
                             " whose next token another rank of the group holds: that one has "
                             "other sequences.",
                         "likely"));
  return notObservable("needs the hash of each rank's whole batch (batch.input_ids)");
}

}  // namespace

RuleResult checkDifferentBatchesOnCpRanks(const Trace& trace) {
  if (trace.run() && trace.run()->cp == 1) return clear();
  bool compared = false;
  const auto groups = sequenceGroups(trace);
  const bool known = !trace.groups().empty();  // else dp ranks would be among them
  for (const std::int32_t train_step : stepsOf(trace))
    for (const auto& members : groups) {
      const TensorRecord* first = nullptr;
      for (const WorldRank rank : members) {
        const TensorRecord* batch = batchOf(trace, train_step, rank);
        if (!batch || !known) continue;
        if (!first) first = batch;
        compared = compared || batch != first;
        if (batch->hash != first->hash)
          return found(finding({train_step}, rank,
                               "The token ids of the whole batch are others on rank " +
                                   toString(rank) + " than on rank " + toString(first->rank) +
                                   ", so the shards are of different sequences.",
                               "certain"));
      }
    }
  return compared ? clear() : byLabels(trace);
}

}  // namespace ringscope::traces
