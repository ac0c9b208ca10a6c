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
#include "traces/analysis/doctor/shared_keys.h"
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

/// Reports whether restarting positions may be those of packed documents: some ids of a step are
/// not the rank's own indices, or attention does not cross the shards.
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
    return undecided(
        "needs to know where positions count from: ringscope.record(declare={\"positions\": …})");
  if (all.restarting < all.wrong)
    return undecided(
        "needs position ids that are the places of the tokens, or count the rank's own; " +
        std::to_string(all.wrong - all.restarting) + " of " + std::to_string(all.tokens) +
        " are neither");
  return found(missingPositionIdsFinding(all, guessed));
}

// positions_not_reset_per_document: positions were declared to begin anew in each document and are
// global indices. Each training step is judged by itself, because the mistake may begin while a run
// goes on.
namespace {

/// The position ids of one or several training steps.
struct DocumentIds {
  int steps = 0;
  std::int64_t ids = 0, wrong = 0;
  std::int64_t unlike_global = 0, unlike_local = 0;
  Place place;
  WorldRank rank;
};

/// Returns the position ids by training step and rank.
std::vector<const TensorRecord*> positionIds(const Trace& trace) {
  std::vector<const TensorRecord*> all;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor.kind == TensorKind::kPositionIds) all.push_back(&tensor);
  std::ranges::stable_sort(all, {}, [](const TensorRecord* tensor) {
    return std::pair(tensor->place.train_step, tensor->rank);
  });
  return all;
}

void addIds(DocumentIds& count, const std::vector<double>& ids,
            const std::vector<TokenIndex>& tokens, const IntentRecord& meant,
            const TensorRecord& tensor) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const TokenIndex token = tokens[i % tokens.size()];
    const TokenRun* document = runWith(meant.documents, token);
    if (!document) continue;  // padding
    ++count.ids;
    const auto global = static_cast<double>(token.value());
    count.unlike_global += ids[i] != global;
    count.unlike_local += ids[i] != static_cast<double>(i % tokens.size());
    if (ids[i] == static_cast<double>(token.value() - document->begin)) continue;
    if (count.wrong++ > 0) continue;
    count.place = tensor.place;
    count.rank = tensor.rank;
  }
}

/// Returns the sum over the wrong steps; `right_steps` counts the others.
DocumentIds wrongSteps(const std::map<std::int32_t, DocumentIds>& steps, int& right_steps) {
  DocumentIds all;
  for (const auto& [train_step, count] : steps) {
    if (count.wrong == 0) {
      right_steps += count.ids > 0;
      continue;
    }
    if (all.steps++ == 0) {
      all.place = count.place;
      all.rank = count.rank;
    }
    all.ids += count.ids;
    all.wrong += count.wrong;
    all.unlike_global += count.unlike_global;
    all.unlike_local += count.unlike_local;
  }
  return all;
}

Finding positionsNotResetPerDocumentFinding(const DocumentIds& count, int right_steps) {
  return {.title = "Position ids run through the borders of documents",
          .place = count.place,
          .rank = count.rank,
          .buffer = "position_ids",
          .evidence =
              "All " + std::to_string(count.ids) + " position ids " +
              (right_steps > 0 ? "of " + describeCount(count.steps, "training step") +
                                     " (those of " + std::to_string(right_steps) + " are right) "
                               : "") +
              "are indices in the packed sequence, so " + std::to_string(count.wrong) +
              " of them are not the place in their document, from which they were meant to count.",
          .remedy =
              "Make position_ids per document (0, 1, … from each start in cu_seqlens) before the "
              "sequence is cut, and shard them with the tokens."};
}

}  // namespace

RuleResult checkPositionsNotResetPerDocument(const Trace& trace) {
  std::map<std::int32_t, DocumentIds> steps;
  bool cut = false, whole_sequence = false;
  for (const TensorRecord* found_there : positionIds(trace)) {
    const TensorRecord& tensor = *found_there;
    const IntentRecord* meant = trace.intent(tensor.place.train_step, tensor.rank);
    if (meant && meant->positions == PositionRule::kWholeSequence) whole_sequence = true;
    if (!meant || meant->positions != PositionRule::kEachDocument) continue;
    const ShardRecord* shard = trace.findShard("input_ids", tensor.place.train_step, tensor.rank);
    const auto ids = trace.values(tensor);
    if (!shard || !ids || ids->empty()) continue;
    const auto tokens = tokensIn(*shard, ids->size());
    if (tokens.empty() || ids->size() % tokens.size() != 0) continue;
    const ShardRecord* own = trace.findShard("position_ids", tensor.place.train_step, tensor.rank);
    cut = cut || (own && own->sharded);
    addIds(steps[tensor.place.train_step], *ids, tokens, *meant, tensor);
  }
  int right_steps = 0;
  const DocumentIds count = wrongSteps(steps, right_steps);
  if (count.wrong == 0 && right_steps == 0 && !whole_sequence)
    return notObservable(
        "needs the values of position_ids, their meant begin, and the borders of documents");
  if (count.wrong == 0) return clear();
  // A rank that numbers its own tokens has the same ids where it holds the whole sequence.
  if (count.unlike_global == 0 && (cut || count.unlike_local > 0))
    return found(positionsNotResetPerDocumentFinding(count, right_steps));
  return undecided("needs position ids that are those of the tokens in one way or the other");
}

}  // namespace ringscope::traces
