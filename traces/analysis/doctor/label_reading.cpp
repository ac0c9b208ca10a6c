// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/label_reading.h"

#include <cmath>
#include <optional>
#include <set>

#include "traces/analysis/doctor/own_documents.h"
#include "traces/analysis/verify/recompute/label_counts.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// That all shards of all steps lack their last target, if each were left out by chance.
constexpr double kNoCoincidence = 1e-4;

/// Returns the probability that `lost` labels at the ends of shards are left out by right. Both
/// neighbours of each have a target.
/// - If other labels are left out, those between two targets tell how often this happens within
///   shards: `alone` of `between`. Beforehand a rate near 0 is expected (Beta(1/4, 1/4)).
/// - If no other label is left out, all rates count as equally probable. Then `lost` labels and no
///   other are left out with the probability B(lost + 1, labels + 1).
double chanceOf(const LabelCounts& c) {
  constexpr double kPrior = 0.25;
  const auto lost = static_cast<double>(c.lost), labels = static_cast<double>(c.labels);
  if (c.left_out > 0) {
    const auto alone = static_cast<double>(c.alone), between = static_cast<double>(c.between);
    return std::exp(std::lgamma(alone + kPrior + lost) - std::lgamma(alone + kPrior) +
                    std::lgamma(between + 2 * kPrior) - std::lgamma(between + 2 * kPrior + lost));
  }
  return std::exp(std::lgamma(lost + 1) + std::lgamma(labels + 1) - std::lgamma(lost + labels + 2));
}

/// Reports whether too few labels are compared to tell in which way they are wrong.
bool areTooFew(const LabelCounts& c) {
  return c.targets < kFewTargets && c.wrong > 0;
}

LabelReading judge(const LabelCounts& c) {
  LabelReading reading;
  reading.recorded = true;
  reading.rank = c.first;
  reading.targets = c.targets;
  reading.wrong = c.wrong;
  reading.lost = c.lost;
  const bool as_in_shards = c.unlike_local == 0 && c.wrong + c.lost > 0;
  const bool twice = c.of_sequence.holds() || c.of_shard.holds();
  if (areTooFew(c)) {
    reading.missing = "needs more targets than the " + std::to_string(c.targets) + " that it has";
  } else if (as_in_shards && c.wrong == 0) {
    reading.are = LabelsAre::kPerhapsPerShard;
    reading.chance = chanceOf(c);
    reading.missing =
        c.left_out > 0
            ? "needs more ends of shards: the last token of a shard has no target in " +
                  describeCount(c.lost, "place") + " between two targets, and of " +
                  describeCount(c.between, "other token") + " between two targets " +
                  describeCount(c.alone) + (c.alone == 1 ? " has" : " have") +
                  " none, so that chance gives this once in " +
                  describeSignificant(1 / reading.chance, 2)
            : "needs more labels, or more ends of shards: of " + describeCount(c.labels + c.lost) +
                  " labels the " + std::to_string(c.lost) +
                  " at the ends of shards may be left out by "
                  "right";
  } else if (as_in_shards && !c.of_shard.holds()) {
    reading.are = LabelsAre::kShiftedPerShard;
    reading.certain = c.wrong > 0 && !c.of_sequence.holds();  // two stripes are two tokens apart
  } else if (twice && !as_in_shards) {
    reading.are = LabelsAre::kShiftedTwice;
  } else if (c.within_shard.holds() && !as_in_shards) {
    reading.are = LabelsAre::kTwicePerShard;
  } else if (c.other_cut.holds() && c.other_cut.like >= kFewTargets) {
    reading.are = LabelsAre::kCutOtherwise;
    reading.cut = c.cut;
    reading.missing = "needs labels that are cut as the tokens are";
  } else if (c.wrong > 0 && c.wrong_within == 0 && c.within >= kFewTargets) {
    reading.are = LabelsAre::kOfOtherBatches;
    reading.missing = "needs ranks that work on one batch";
  } else if (c.wrong > 0) {
    reading.missing = "needs labels that are the next tokens, shifted in some known way; " +
                      std::to_string(c.wrong) + " of " + std::to_string(c.targets) + " are neither";
  } else if (c.undeclared > 0 && c.unlike_local == 0) {
    reading.missing = "needs a declaration whether documents end where the ranks' shards do";
  } else {
    reading.are = LabelsAre::kNextTokens;
  }
  return reading;
}

std::set<std::int32_t> stepsWithLabels(const Trace& trace) {
  std::set<std::int32_t> steps;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor == TensorName{TensorKind::kBuffer, "labels"})
      steps.insert(tensor.place.train_step);
  return steps;
}

/// The hashes of a group's tokens and labels: groups that read the same batch, as those of tp, tell
/// nothing new.
std::vector<std::uint64_t> hashesOf(const Trace& trace, std::int32_t train_step,
                                    const std::vector<WorldRank>& members) {
  std::vector<std::uint64_t> hashes;
  for (const char* buffer : {"input_ids", "labels"})
    for (const WorldRank rank : members) {
      const auto* part = trace.findTensor({TensorKind::kBuffer, buffer}, Place{train_step}, rank);
      hashes.push_back(part ? part->hash : 0);
    }
  return hashes;
}

}  // namespace

LabelReading readLabels(const Trace& trace) {
  LabelReading all;
  all.missing = "needs the values of input_ids and labels, and which tokens these are";
  bool any_right = false, any_beyond = false, own_documents = false;
  std::optional<LabelReading> perhaps;
  std::optional<Place> first_few;
  LabelCounts pooled, few;
  std::set<std::pair<std::int32_t, std::vector<std::uint64_t>>> seen;
  for (const std::int32_t train_step : stepsWithLabels(trace))
    for (const auto& members : sequenceGroups(trace)) {
      if (!seen.emplace(train_step, hashesOf(trace, train_step, members)).second) continue;
      const auto tokens = SequenceTokens::of(trace, train_step, members);
      if (!tokens) continue;
      const IntentRecord* meant = trace.intent(train_step, tokens->ranks().front().rank);
      const LabelCounts counts =
          countLabels(*tokens, meant, RestartedPositions(trace, train_step, members));
      if (areTooFew(counts)) {
        few += counts;
        if (!first_few) first_few = Place{train_step};
        continue;
      }
      LabelReading reading = judge(counts);
      reading.place = {train_step};
      if (reading.are == LabelsAre::kNextTokens) {
        any_right = true;
        any_beyond = any_beyond || counts.unlike_local > 0;  // a target that the rank does not hold
        reading.targets += all.targets;
        all = std::move(reading);
      } else if (reading.are == LabelsAre::kPerhapsPerShard) {
        pooled += counts;
        own_documents = own_documents || mayHaveOwnDocuments(trace, train_step, members);
        LabelReading of_all_steps = judge(pooled);
        if (!perhaps) perhaps = std::move(reading);
        perhaps->chance = of_all_steps.chance;
        perhaps->missing = std::move(of_all_steps.missing);
      } else if (reading.are != LabelsAre::kUnknown || !any_right || reading.wrong > 0) {
        return reading;
      }
    }
  if (first_few) {
    LabelReading reading = judge(few);
    reading.place = *first_few;
    return reading;
  }
  if (!perhaps) return all;
  if (!any_beyond && !own_documents && perhaps->chance < kNoCoincidence) {
    perhaps->are = LabelsAre::kShiftedPerShard;
    perhaps->certain = false;
  }
  return *perhaps;
}

RuleResult unknownLabels(const LabelReading& labels) {
  return labels.recorded ? undecided(labels.missing) : notObservable(labels.missing);
}

}  // namespace ringscope::traces
