// SPDX-License-Identifier: Apache-2.0
// Compares the position ids that each rank's model really used with the global index of its tokens.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "traces/analysis/doctor/rule.h"
#include "traces/format/schema/token_runs.h"
#include "traces/format/trace/framework.h"

namespace ringscope::traces {
namespace {

struct Count {
  std::int64_t tokens = 0;
  std::int64_t wrong = 0;
  std::int64_t restarting = 0;  // equal to the local index instead
  double max_offset = 0;
  bool by_document = false;  // some of them were meant to count from the start of a document
  bool undeclared = false;   // of some nobody said from where they count
  Place place;
  WorldRank rank;  // the first that has a wrong one

  void add(const Count& more) {
    if (more.wrong > 0 && wrong == 0) {
      place = more.place;
      rank = more.rank;
    }
    tokens += more.tokens;
    wrong += more.wrong;
    restarting += more.restarting;
    max_offset = std::max(max_offset, more.max_offset);
    by_document = by_document || more.by_document;
    undeclared = undeclared || more.undeclared;
  }
};

/// Where positions count from, for a token: 0, or the start of its document.
std::int64_t countsFrom(TokenIndex token, const IntentRecord* meant) {
  if (!meant || meant->positions != PositionRule::kEachDocument) return 0;
  const TokenRun* document = runWith(meant->documents, token);
  return document ? document->begin : 0;
}

/// Positions that may count from the start of each document can be judged only where the documents
/// are known. A rank's file alone may lack what was declared for all.
bool canBeJudged(const Trace& trace, const IntentRecord* meant) {
  if (meant && meant->positions == PositionRule::kEachDocument) return !meant->documents.empty();
  if (meant && meant->positions == PositionRule::kWholeSequence) return true;
  const RunSpec* run = trace.run();
  return !run || (run->mask != MaskKind::kDocuments && run->tokens.empty());
}

/// positions: [B, S_local] or [S_local], row-major. Goes by the recorded ids, since a run of tokens
/// can be far longer than anything that was recorded of it.
Count compare(const std::vector<double>& positions, const std::vector<TokenRun>& runs,
              const IntentRecord* meant) {
  Count count;
  std::vector<TokenRun> held;  // that hold a token: of the others there may be very many
  std::ranges::copy_if(runs, std::back_inserter(held),
                       [](const TokenRun& run) { return run.end > run.begin; });
  std::size_t i = 0;
  while (i < positions.size() && !held.empty()) {
    std::int64_t local = 0;
    for (const TokenRun& run : held)
      for (std::int64_t g = run.begin; g < run.end && i < positions.size(); ++g, ++i, ++local) {
        ++count.tokens;
        const double position = positions[i],
                     should = static_cast<double>(g - countsFrom(TokenIndex::of(g), meant));
        if (position == should) continue;
        ++count.wrong;
        count.restarting += position == static_cast<double>(local);
        count.max_offset = std::max(count.max_offset, std::abs(position - should));
      }
  }
  return count;
}

/// `guessed`: that positions count over the whole sequence.
Finding finding(const Count& all, bool guessed) {
  Finding f;
  f.rule = "missing_position_ids";
  f.severity = "error";
  f.confidence = guessed ? "likely" : "certain";
  f.title = "Position ids restart on every rank";
  f.place = all.place;
  f.rank = all.rank;
  f.buffer = "position_ids";
  f.evidence =
      std::to_string(all.wrong) + " of " + std::to_string(all.tokens) +
      " position ids differ from " +
      (all.by_document ? "their token's place in its document"
                       : "the global index of their token") +
      ", by up to " + std::to_string(std::llround(std::min(all.max_offset, 1e15))) + "; " +
      std::to_string(all.restarting) +
      " of them count the rank's own tokens from 0, so the rotary embedding turns keys and "
      "queries by the angles of other places.";
  f.remedy =
      "Build position_ids for the whole sequence before the context is entered and shard them with "
      "the tokens: buffers=[input_ids, labels, position_ids], buffer_seq_dims=[1, 1, 1].";
  return f;
}

}  // namespace

RuleResult checkMissingPositionIds(const Trace& trace) {
  Count all;
  for (const TensorRecord& tensor : trace.tensors()) {
    if (tensor.tensor.kind != TensorKind::kPositionIds) continue;
    const ShardRecord* tokens = trace.findShard("input_ids", tensor.place.train_step, tensor.rank);
    const auto values = trace.values(tensor);
    if (!tokens || !values) continue;
    const IntentRecord* meant = trace.intent(tensor.place.train_step, tensor.rank);
    if (!canBeJudged(trace, meant)) continue;
    Count count = compare(*values, tokens->global_from_local, meant);
    count.by_document = meant && meant->positions == PositionRule::kEachDocument;
    count.undeclared = !meant || meant->positions == PositionRule::kUnknown;
    count.place = tensor.place;
    count.rank = tensor.rank;
    all.add(count);
  }
  if (all.tokens == 0)
    return notObservable("needs the values of position_ids and the borders of documents");
  if (all.wrong == 0) return clear();
  // Documents that were packed without a word have positions of their own too.
  const bool foreign = isForeign(trace);
  if (foreign && all.undeclared && all.restarting < all.wrong)
    return undecided(
        "needs a declaration from where positions count, which ringscope.record(declare={"
        "\"positions\": …}) records");
  if (all.restarting < all.wrong)
    return undecided(
        "needs position ids that are the places of the tokens, or count the rank's own; " +
        std::to_string(all.wrong - all.restarting) + " of " + std::to_string(all.tokens) +
        " are neither");
  return found(finding(all, foreign && all.undeclared));
}

}  // namespace ringscope::traces
