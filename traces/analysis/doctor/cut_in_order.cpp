// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/cut_in_order.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "traces/analysis/doctor/key_positions.h"
#include "traces/analysis/doctor/label_reading.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/verify/recompute/sequence_tokens.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"
#include "traces/plan/balance.h"

namespace ringscope::traces {
namespace {

Finding describeCut(const Place& place, WorldRank rank, const char* buffer, std::string evidence) {
  return {.confidence = Confidence::kLikely,
          .title = "Buffers are dealt to the ranks in different ways",
          .place = place,
          .rank = rank,
          .buffer = buffer,
          .evidence = std::move(evidence),
          .remedy =
              "Cut this buffer with the tokens: context_parallel(buffers=[input_ids, labels, "
              "position_ids], …); what is made elsewhere must be rearranged alike."};
}

Finding describeOrder(const Place& place, WorldRank rank, const char* buffer,
                      const std::string& values) {
  return describeCut(place, rank, buffer,
                     values +
                         " of equal parts in the sequence's order, and the ranks' tokens are dealt "
                         "otherwise.");
}

/// Finds keys whose positions are those of shards that another balance deals.
std::optional<Finding> keysOfOtherCut(const Readings& readings) {
  const KeyPositions keys = readKeyPositions(readings);
  if (keys.count != KeysCount::kOtherCut) return std::nullopt;
  return describeCut(
      keys.place, keys.rank, "position_ids",
      "The keys of " + describeCount(keys.pairs, "pair") +
          " of equal tokens differ as the places of shards with balance " + name(keys.cut) +
          " do, and not as the tokens' places in the sequence. The ranks' tokens are dealt "
          "otherwise. This assumes that positions count over the whole sequence.");
}

/// Reports whether position ids count equal parts of the sequence, and tokens are others.
bool countParts(const std::vector<double>& ids, const std::vector<TokenIndex>& tokens,
                std::int64_t seat) {
  if (tokens.empty() || ids.empty() || ids.size() % tokens.size() != 0) return false;
  bool other = false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto local = static_cast<std::int64_t>(i % tokens.size());
    const std::int64_t in_order = seat * std::ssize(tokens) + local;
    if (ids[i] != static_cast<double>(in_order)) return false;
    other = other || tokens[i % tokens.size()].value() != in_order;
  }
  return other;
}

/// Finds a cp group whose position ids, all of them, count equal parts in order.
std::optional<Finding> positionsInOrder(const Trace& trace) {
  std::map<std::pair<StepMicrobatch, const GroupRecord*>, std::pair<bool, const TensorRecord*>> all;
  const GroupsByMicrobatch groups(trace);
  for (const TensorRecord& tensor : trace.tensors()) {
    if (tensor.tensor.kind != TensorKind::kPositionIds) continue;
    const StepMicrobatch at{tensor.place.train_step, tensor.microbatch};
    const GroupRecord* cp = groups.group(tensor.rank, at.train_step, at.microbatch);
    const ShardRecord* shard =
        trace.findShard("input_ids", at.train_step, tensor.rank, at.microbatch);
    const auto ids = trace.values(tensor);
    if (!cp || cp->members.size() < 2 || !shard || !ids) continue;
    const auto seat = std::ranges::find(cp->members, tensor.rank) - cp->members.begin();
    auto& [holds, first] = all.try_emplace({at, cp}, true, &tensor).first->second;
    holds = holds && countParts(*ids, tokensIn(*shard, ids->size()), seat);
  }
  for (const auto& [group, result] : all)
    if (result.first)
      return describeOrder(result.second->place, result.second->rank, "position_ids",
                           "All position ids are those");
  return std::nullopt;
}

}  // namespace

std::optional<Finding> cutInOrder(const Readings& readings) {
  const LabelReading& labels = readings.labels();
  if (labels.are == LabelsAre::kCutOtherwise) {
    const std::string values = "Of " + describeCount(labels.targets, "label") + " " +
                               describeCount(labels.wrong) +
                               " are not the next token; all of them "
                               "are the next tokens";
    if (dealsContiguousParts(labels.cut))
      return describeOrder(labels.place, labels.rank, "labels", values);
    return describeCut(labels.place, labels.rank, "labels",
                       values + " of shards with balance " + name(labels.cut) +
                           ", and the ranks' tokens are dealt otherwise.");
  }
  if (auto positions = positionsInOrder(readings.trace())) return positions;
  return keysOfOtherCut(readings);
}

}  // namespace ringscope::traces
