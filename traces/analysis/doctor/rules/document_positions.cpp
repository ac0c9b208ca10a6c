// SPDX-License-Identifier: Apache-2.0
// Position ids of packed documents: whether they count from the start of each document.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/sequence_tokens.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/token_runs.h"
#include "traces/format/trace/framework.h"

namespace ringscope::traces {

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
