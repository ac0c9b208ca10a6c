// SPDX-License-Identifier: Apache-2.0
// Buffers of a rank that hold different tokens: those of the model, and companions of the tokens.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "traces/analysis/doctor/cut_in_order.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/doctor/shard_lengths.h"
#include "traces/analysis/verify/recompute/step_loss.h"
#include "traces/format/trace/framework.h"

namespace ringscope::traces {
namespace {

/// Reports whether the model reads a buffer. A job's other buffers are companions of the tokens,
/// which the loss reads: advantages, old log-probabilities, a loss mask, a teacher's logits.
bool isOfModel(const Trace& trace, const std::string& buffer) {
  static const std::set<std::string> kOfModel = {
      "input_ids", "ids", "tokens", "labels",    "targets",   "position_ids",
      "positions", "cos", "sin",    "freqs_cis", "rotations", "attention_mask"};
  return !isForeign(trace) || kOfModel.contains(buffer);
}

/// Two buffers of a rank whose rows are different tokens.
struct UnlikeBuffers {
  const ShardRecord *first = nullptr, *other = nullptr;
  std::size_t row = 0;
  TokenIndex of_first, of_other;
};

/// The comparison of each rank's first buffer with its others, of the model or companions.
struct BufferMaps {
  bool compared = false;
  std::optional<UnlikeBuffers> unlike;
};

BufferMaps compareBuffers(const Trace& trace, bool of_model) {
  std::map<std::pair<std::int32_t, WorldRank>, std::vector<const ShardRecord*>> by_rank;
  for (const ShardRecord& shard : trace.shards())
    if (shard.sharded && !shard.global_from_local.empty() && localLength(shard).value_or(0) > 0)
      by_rank[{shard.train_step, shard.rank}].push_back(&shard);
  BufferMaps maps;
  for (auto& [rank, shards] : by_rank) {
    std::stable_partition(shards.begin(), shards.end(),
                          [](const ShardRecord* shard) { return shard->buffer == "input_ids"; });
    const ShardRecord& first = *shards.front();
    const auto of_first = allTokens(first);
    if (of_first.empty()) continue;
    for (const ShardRecord* shard : shards) {
      const bool same = shard == &first || localLength(first) != localLength(*shard);
      if (same || isOfModel(trace, shard->buffer) != of_model) continue;
      // Compares tokens and not their runs, which may be parted in several ways.
      const auto of_other = allTokens(*shard);
      if (of_other.empty()) continue;
      maps.compared = true;
      const auto at = std::ranges::mismatch(of_first, of_other);
      if (at.in1 == of_first.end()) continue;
      maps.unlike = {&first, shard, static_cast<std::size_t>(at.in1 - of_first.begin()), *at.in1,
                     *at.in2};
      return maps;
    }
  }
  return maps;
}

/// Reports whether a job's loss is known to be the cross entropy of its labels and nothing else,
/// which reads no companion.
bool readsNoCompanion(const Trace& trace) {
  if (!isForeign(trace) || trace.tensors().empty()) return false;
  const std::int32_t step = trace.tensors().front().place.train_step;
  return !calledLosses(trace, step, trace.tensors().front().rank).empty() &&
         stepLoss(trace, step).isKnown();
}

Finding describe(const UnlikeBuffers& unlike, const char* title, const char* remedy) {
  return {.title = title,
          .place = {unlike.other->train_step},
          .rank = unlike.other->rank,
          .buffer = unlike.other->buffer,
          .evidence = "Row " + std::to_string(unlike.row) + " of the rank's shard is token " +
                      toString(unlike.of_first) + " in " + unlike.first->buffer + " and token " +
                      toString(unlike.of_other) + " in " + unlike.other->buffer + ".",
          .remedy = remedy};
}

}  // namespace

RuleResult checkBalanceDiffersBetweenBuffers(const Readings& readings) {
  const BufferMaps maps = compareBuffers(readings.trace(), true);
  if (maps.unlike)
    return found(describe(*maps.unlike, "Buffers are dealt to the ranks in different ways",
                          "Cut all buffers in one call with one load balance: "
                          "context_parallel(buffers=[input_ids, labels, position_ids], …); what is "
                          "made elsewhere must be rearranged alike."));
  // Values show it too, if the recorder did not see the cut. Something else may explain them.
  if (isForeign(readings.trace()))
    if (auto in_order = cutInOrder(readings)) return found(std::move(*in_order));
  return maps.compared ? clear()
                       : notObservable("needs to know which tokens of two buffers a rank has");
}

RuleResult checkCompanionCutOtherwise(const Readings& readings) {
  const BufferMaps maps = compareBuffers(readings.trace(), false);
  if (maps.unlike)
    return found(
        describe(*maps.unlike, "A companion of the tokens is cut otherwise than they are",
                 "Cut the companion with the tokens, in the same call: "
                 "context_parallel(buffers=[input_ids, labels, advantages], …), or index it "
                 "with the rank's tokens."));
  return maps.compared || readsNoCompanion(readings.trace())
             ? clear()
             : notObservable(
                   "needs to know which tokens a rank has of what the loss reads beside "
                   "labels (advantages, a loss mask)");
}

}  // namespace ringscope::traces
