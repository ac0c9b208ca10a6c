// SPDX-License-Identifier: Apache-2.0
// Position ids: whether they count from the right place.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "traces/analysis/doctor/key_positions.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/doctor/shard_borders.h"
#include "traces/analysis/doctor/shared_keys.h"
#include "traces/analysis/doctor/shared_positions.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/analysis/verify/recompute/sequence_tokens.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/token_runs.h"
#include "traces/format/trace/framework.h"

namespace ringscope::traces {

// missing_position_ids: the position ids that a rank's model used count the rank's own tokens.
namespace {

/// The position ids that were compared, and those that are wrong.
struct IdCount {
  std::int64_t tokens = 0;
  std::int64_t wrong = 0;
  std::int64_t restarting = 0;  // equal to the local index instead
  std::int64_t counted_on = 0;  // right, and not the local index
  double max_offset = 0;
  bool by_document = false;  // some of them were meant to count from the start of a document
  bool undeclared = false;   // of some nobody said from where they count
  Place place;
  WorldRank rank;  // the first that has a wrong one

  void add(const IdCount& more) {
    if (more.wrong > 0 && wrong == 0) {
      place = more.place;
      rank = more.rank;
    }
    tokens += more.tokens;
    wrong += more.wrong;
    restarting += more.restarting;
    counted_on += more.counted_on;
    max_offset = std::max(max_offset, more.max_offset);
    by_document = by_document || more.by_document;
    undeclared = undeclared || more.undeclared;
  }
};

/// Returns the token from which the position of a token counts: 0, or the start of its document.
std::int64_t firstCounted(TokenIndex token, const IntentRecord* meant) {
  if (!meant || meant->positions != PositionRule::kEachDocument) return 0;
  const TokenRun* document = runWith(meant->documents, token);
  return document ? document->begin : 0;
}

/// Reports whether positions can be judged. Positions that may count from the start of each
/// document need the documents; a rank's file alone may lack the declaration of all ranks.
bool canBeJudged(const Trace& trace, const IntentRecord* meant) {
  if (meant && meant->positions == PositionRule::kEachDocument) return !meant->documents.empty();
  if (meant && meant->positions == PositionRule::kWholeSequence) return true;
  const RunSpec* run = trace.run();
  return !run || (run->mask != MaskKind::kDocuments && run->tokens.empty());
}

/// Compares position ids [B, S_local] or [S_local] with tokens, of which a run can be far longer.
IdCount countIds(const std::vector<double>& positions, const std::vector<TokenRun>& runs,
                 const IntentRecord* meant) {
  IdCount count;
  std::vector<TokenRun> held;  // without empty runs, of which there may be very many
  std::ranges::copy_if(runs, std::back_inserter(held),
                       [](const TokenRun& run) { return run.end > run.begin; });
  std::size_t i = 0;
  while (i < positions.size() && !held.empty()) {
    std::int64_t local = 0;
    for (const TokenRun& run : held)
      for (std::int64_t g = run.begin; g < run.end && i < positions.size(); ++g, ++i, ++local) {
        ++count.tokens;
        const double position = positions[i],
                     should = static_cast<double>(g - firstCounted(TokenIndex::of(g), meant));
        const bool is_local = position == static_cast<double>(local);
        count.counted_on += position == should && !is_local;
        if (position == should) continue;
        ++count.wrong;
        count.restarting += is_local;
        count.max_offset = std::max(count.max_offset, std::abs(position - should));
      }
  }
  return count;
}

constexpr const char* kShardPositions =
    "Build position_ids for the whole sequence before the context is entered and shard them with "
    "the tokens: buffers=[input_ids, labels, position_ids], buffer_seq_dims=[1, 1, 1].";

Finding keyPositionsFinding(const KeyPositions& keys) {
  return {.confidence = Confidence::kLikely,
          .title = "Positions restart on every rank",
          .place = keys.place,
          .rank = keys.rank,
          .buffer = "position_ids",
          .evidence = "The keys of " + describeCount(keys.pairs, "pair") +
                      " of equal tokens differ as the tokens' places in their " +
                      (keys.by_document
                           ? "rank's parts of documents do, and not as their places in the "
                             "documents that position ids show."
                           : "shards do, and not as their places in the sequence. This assumes "
                             "that positions count over the whole sequence."),
          .remedy = kShardPositions};
}

/// `guessed`: the rule assumes that positions count over the whole sequence.
Finding missingPositionIdsFinding(const IdCount& all, bool guessed) {
  return {
      .confidence = guessed ? Confidence::kLikely : Confidence::kCertain,
      .title = "Position ids restart on every rank",
      .place = all.place,
      .rank = all.rank,
      .buffer = "position_ids",
      .evidence = std::to_string(all.wrong) + " of " + std::to_string(all.tokens) +
                  " position ids differ from " +
                  (all.by_document ? "their token's place in its document"
                                   : "the global index of their token") +
                  ", by up to " + std::to_string(std::llround(std::min(all.max_offset, 1e15))) +
                  "; " + std::to_string(all.restarting) +
                  " of them count the rank's own tokens from 0, so keys and queries have the "
                  "positions of other places." +
                  (guessed ? " This assumes that positions count over the whole sequence." : ""),
      .remedy = kShardPositions};
}

/// Reports whether restarting positions may be those of packed documents. Then some ids of a step
/// are not the rank's own indices, or attention does not cross the shards.
bool mayBeDocuments(const std::map<std::int32_t, IdCount>& steps, const Readings& readings) {
  const auto are_others = [](const auto& step) {
    const IdCount& ids = step.second;
    return ids.wrong > 0 && (ids.restarting < ids.wrong || ids.counted_on > 0);
  };
  const auto crosses_none = [](const LayerCheck& layer) {
    return layer.fits == AttentionFits::kNothing || layer.within_documents;
  };
  return std::ranges::any_of(steps, are_others) ||
         std::ranges::any_of(readings.layers(), crosses_none);
}

}  // namespace

RuleResult checkMissingPositionIds(const Readings& readings) {
  const Trace& trace = readings.trace();
  if (auto finding = unlikeSharedKeys(trace)) return found(std::move(*finding));
  if (auto finding = equalPositionsOfAxes(readings)) return found(std::move(*finding));
  IdCount all;
  std::map<std::int32_t, IdCount> steps;
  for (const TensorRecord& tensor : trace.tensors()) {
    if (tensor.tensor.kind != TensorKind::kPositionIds) continue;
    const ShardRecord* tokens = trace.findShard("input_ids", tensor.place.train_step, tensor.rank);
    const auto values = trace.values(tensor);
    if (!tokens || !values) continue;
    const IntentRecord* meant = trace.intent(tensor.place.train_step, tensor.rank);
    if (!canBeJudged(trace, meant)) continue;
    IdCount count = countIds(*values, tokens->global_from_local, meant);
    count.by_document = meant && meant->positions == PositionRule::kEachDocument;
    count.undeclared = !meant || meant->positions == PositionRule::kUnknown;
    count.place = tensor.place;
    count.rank = tensor.rank;
    all.add(count);
    steps[tensor.place.train_step].add(count);
  }
  const bool guessed = isForeign(trace) && all.undeclared;
  const bool documents = all.wrong > 0 && guessed && mayBeDocuments(steps, readings);
  KeyPositions keys;  // the model may use other positions than the recorded ones
  if (all.wrong == 0 || documents) keys = readKeyPositions(readings);
  const bool tells = all.wrong == 0 || keys.by_document;
  if (tells && keys.count == KeysCount::kShard) return found(keyPositionsFinding(keys));
  if (tells && keys.count == KeysCount::kSequence && (documents || all.tokens == 0)) return clear();
  if (all.tokens == 0)
    return notObservable("needs the values of position_ids and the borders of documents");
  if (all.wrong == 0) return clear();
  if (documents)
    if (auto finding = positionsRestartAtShards(readings)) return found(std::move(*finding));
  if (documents)
    return undecided(
        "needs to know where positions count from: ringscope.record(declare={\"positions\": …})");
  if (all.restarting < all.wrong)
    return undecided(
        "needs position ids that are the places of the tokens, or count the rank's own; " +
        std::to_string(all.wrong - all.restarting) + " of " + std::to_string(all.tokens) +
        " are neither");
  return found(missingPositionIdsFinding(all, guessed));
}

}  // namespace ringscope::traces
