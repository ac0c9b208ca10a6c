// SPDX-License-Identifier: Apache-2.0
// Targets of heads that predict later tokens than the next one.
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/label_counts.h"
#include "traces/analysis/verify/recompute/sequence_tokens.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/other_tensors.h"
#include "traces/format/trace/called_losses.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

constexpr std::int64_t kMostAhead = 4;

/// One rank's labels and a further head's targets: [batch, own tokens].
struct OwnTargets {
  WorldRank rank;
  std::vector<TokenIndex> tokens;
  std::vector<double> labels, further;
};

/// A head's targets against the labels of a token some places later.
struct HeadCounts {
  std::int64_t within = 0, unlike_within = 0;   ///< the later token is as many places later here
  std::int64_t right = 0, other = 0, lost = 0;  ///< the later token is elsewhere
  WorldRank first;                              ///< the first rank with one of `other` or `lost`
};

/// The targets of one head over the ranks of a cp group.
class FurtherTargets {
 public:
  explicit FurtherTargets(std::vector<OwnTargets> ranks) : ranks_(std::move(ranks)) {
    for (const OwnTargets& own : ranks_)
      for (std::size_t i = 0; i < own.labels.size(); ++i) label_[at(own, i)] = own.labels[i];
  }

  /// Returns the counts for the distance at which all targets within shards agree.
  std::optional<HeadCounts> count() const {
    for (std::int64_t ahead = 1; ahead <= kMostAhead; ++ahead)
      if (HeadCounts counts = countFor(ahead);
          counts.within >= kFewTargets && counts.unlike_within == 0)
        return counts;
    return std::nullopt;
  }

 private:
  /// Returns the batch entry and the token of a place.
  static std::pair<std::size_t, std::int64_t> at(const OwnTargets& own, std::size_t i) {
    return {i / own.tokens.size(), own.tokens[i % own.tokens.size()].value()};
  }

  HeadCounts countFor(std::int64_t ahead) const {
    HeadCounts counts;
    for (const OwnTargets& own : ranks_)
      for (std::size_t i = 0; i < own.further.size(); ++i) {
        const auto [batch, token] = at(own, i);
        const auto later = label_.find({batch, token + ahead});
        if (later == label_.end() || later->second < 0) continue;
        const std::size_t here = i + static_cast<std::size_t>(ahead);
        const bool within =
            here < own.labels.size() && at(own, here) == std::pair(batch, token + ahead);
        const bool same = own.further[i] == later->second;
        if (within && own.further[i] < 0) continue;  // the loss leaves this target out
        if (within) {
          ++counts.within;
          counts.unlike_within += same ? 0 : 1;
          continue;
        }
        ++(same ? counts.right : own.further[i] < 0 ? counts.lost : counts.other);
        if (!same && counts.first.isNone()) counts.first = own.rank;
      }
    return counts;
  }

  std::vector<OwnTargets> ranks_;
  std::map<std::pair<std::size_t, std::int64_t>, double> label_;
};

/// Returns a head's targets in a step; empty when a rank's are not recorded.
std::vector<OwnTargets> targetsOf(const Trace& trace, std::int32_t train_step,
                                  const std::vector<WorldRank>& members, const std::string& head) {
  std::vector<OwnTargets> all;
  for (const WorldRank rank : members) {
    const auto read = [&](TensorKind kind, const std::string& name) {
      const TensorRecord* record = trace.findTensor({kind, name}, Place{train_step}, rank);
      return record ? trace.values(*record) : std::nullopt;
    };
    const ShardRecord* shard = trace.findShard("input_ids", train_step, rank);
    const auto labels = read(TensorKind::kBuffer, "labels"),
               further = read(TensorKind::kOther, head);
    if (!shard || !labels || !further || labels->size() != further->size()) return {};
    OwnTargets own{rank, tokensIn(*shard, labels->size() + 1), *labels, *further};
    if (own.tokens.empty() || labels->size() % own.tokens.size() != 0) return {};
    all.push_back(std::move(own));
  }
  return all;
}

Finding rolled(const HeadCounts& counts, const TensorRecord& head) {
  return {.confidence = Confidence::kLikely,
          .title = "Targets of a further head are rolled within each shard",
          .place = head.place,
          .rank = counts.first,
          .buffer = head.tensor.name,
          .evidence = "Within shards all " + describeCount(counts.within, "target") +
                      " are the labels some places later. Where that label is on another rank, or "
                      "in another chunk of this one, " +
                      describeCount(counts.other) + " are other labels, " +
                      describeCount(counts.lost) + " are left out and " +
                      describeCount(counts.right) + " are right.",
          .remedy =
              "Roll labels (and ids) of further heads in the whole sequence, and then cut "
              "them as the tokens are cut; or fetch the first tokens of the next chunk from "
              "the rank that has it."};
}

/// Reports whether each microbatch of a job's first recorded step has one loss.
bool hasOneLoss(const Trace& trace) {
  if (!isForeign(trace) || trace.tensors().empty()) return false;
  const TensorRecord& first = trace.tensors().front();
  const auto losses = calledLosses(trace, first.place.train_step, first.rank);
  std::set<std::int32_t> microbatches;
  for (const CalledLoss& loss : losses)
    if (!microbatches.insert(loss.microbatch).second) return false;
  return !losses.empty();
}

}  // namespace

RuleResult checkFutureTokensRolledInShard(const Readings& readings) {
  const Trace& trace = readings.trace();
  bool compared = false;
  for (const TensorRecord& head : trace.tensors()) {
    if (head.tensor.kind != TensorKind::kOther || !head.tensor.name.starts_with(kFurtherLabels))
      continue;
    for (const auto& members : sequenceGroups(trace)) {
      if (members.size() < 2 || members.front() != head.rank) continue;
      auto targets = targetsOf(trace, head.place.train_step, members, head.tensor.name);
      if (targets.empty()) continue;
      const auto counts = FurtherTargets(std::move(targets)).count();
      if (!counts) continue;
      compared = true;
      // Documents may end at the borders of shards, and then some targets are left out by right.
      if (counts->other > 0 || (counts->lost > 1 && counts->right == 0))
        return found(rolled(*counts, head));
    }
  }
  return compared || hasOneLoss(trace)
             ? clear()
             : notObservable("needs labels and a second loss whose targets are later tokens");
}

}  // namespace ringscope::traces
