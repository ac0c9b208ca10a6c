// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/unknown_place.h"

#include <algorithm>
#include <set>

#include "traces/analysis/doctor/wrong_rows.h"
#include "traces/analysis/verify/stage_check.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/token_runs.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// Multiply-adds for all groups of ranks together: about a second of one core.
constexpr double kPlaceWork = 5e8;

std::string blockOf(const WrongStage& stage) {
  return stage.source == stage.rank ? "its own block"
                                    : "the block of rank " + toString(stage.source);
}

/// "rank 1's block_out of the block of rank 3, piece 0".
std::string whatOf(const WrongStage& stage) {
  const std::string block = blockOf(stage);
  switch (stage.kind) {
    case TensorKind::kDk:
    case TensorKind::kDv:
      return "what rank " + toString(stage.rank) + " adds to " + name(stage.kind) + " of " + block +
             (stage.before.exists() ? " over what rank " + toString(stage.before) + " had" : "");
    case TensorKind::kRunningLse:
      return "rank " + toString(stage.rank) + "'s running log-sum-exp after the merge of " + block;
    default:
      return "rank " + toString(stage.rank) + "'s " + name(stage.kind) + " of " + block +
             ", piece " + toString(stage.piece);
  }
}

/// The first wrong result with its numbers.
std::string wordsOf(const WrongStage& stage) {
  if (stage.kind == TensorKind::kOther)
    return "rank " + toString(stage.rank) + " attends of the block of rank " +
           toString(stage.source) + " " + stage.attended;
  const bool keys = isOfKeys(stage.kind);
  return whatOf(stage) + ": " + runWords(keys ? "KV head" : "head", toRuns(stage.heads)) + ", " +
         runWords(keys ? "key token" : "token", stage.tokens) + ", off by up to " +
         describeSignificant(stage.worst.error, 2) + ", " + describeRatio(stage.worst.ratio()) +
         " what rounding explains";
}

/// Other ranks and results that are wrong at the same ring step.
std::string othersOf(const std::vector<WrongStage>& wrong) {
  std::set<WorldRank> ranks;
  for (const WrongStage& stage : wrong)
    if (stage.rank != wrong.front().rank) ranks.insert(stage.rank);
  std::string words;
  for (const WrongStage& stage : wrong)
    if (&stage != &wrong.front() && stage.rank == wrong.front().rank) {
      words = " So is " + whatOf(stage) + ".";
      break;
    }
  if (!ranks.empty())
    words += " At this ring step results of " + rankWords({ranks.begin(), ranks.end()}) +
             " are wrong too.";
  return words;
}

/// Describes a dq whose ring steps' parts were not recorded.
std::string dqWords(const StageCheck& check) {
  std::string words = "dq is what it should be but for the part of one ring step";
  const char* mark = ": ";
  for (const WrongStage& stage : check.wrong) {
    words +=
        mark +
        ("rank " + toString(stage.rank) + " has that of ring step " + toString(stage.ring_step) +
         ", of " + blockOf(stage) + ", " + describeSignificant(stage.times, 3) + " times (" +
         runWords("head", toRuns(stage.heads)) + ", " + runWords("token", stage.tokens) + ")");
    mark = "; ";
  }
  return words + ".";
}

/// Describes sums that are right until they go home.
std::string homeWords(const std::vector<WrongStage>& wrong) {
  const WrongStage& stage = wrong.front();
  std::string kinds = name(stage.kind);
  std::set<WorldRank> others;
  for (const WrongStage& other : wrong) {
    if (other.rank != stage.rank) others.insert(other.rank);
    if (other.rank == stage.rank && other.kind != stage.kind)
      kinds += std::string(" and ") + name(other.kind);
  }
  return "Computed again ring step by ring step, the sums of dK and dV are right; what is wrong is "
         "how they come home: " +
         kinds + " of rank " + toString(stage.rank) + "'s own block are not what rank " +
         toString(stage.before) + " had after ring step " + toString(stage.ring_step) + " (" +
         runWords("KV head", toRuns(stage.heads)) + ", " + runWords("key token", stage.tokens) +
         ")." +
         (others.empty() ? ""
                         : " So it is with " + rankWords({others.begin(), others.end()}) + ".");
}

std::string foundWords(const StageCheck& check) {
  const WrongStage& first = check.wrong.front();
  if (first.on_the_way_home) return homeWords(check.wrong);
  const bool of_dq = first.kind == TensorKind::kDq;
  std::string words =
      of_dq ? dqWords(check)
            : "Computed again ring step by ring step, the first that is wrong is ring step " +
                  toString(first.ring_step) + ": " + wordsOf(first) + "." + othersOf(check.wrong);
  if (check.right > 0)
    words += " " + describeCount(check.right, "result") +
             (of_dq ? " of dK and dV " : " of the ring steps before ") +
             (check.right == 1 ? "is right." : "are right.");
  return words;
}

/// Describes the remaining parts when every computed ring step is right.
std::string rightWords(const StageCheck& check, const DiffRecord& wrong) {
  const std::string computed =
      "Computed again ring step by ring step, " +
      (check.right == 1 ? "the one result" : "all " + describeCount(check.right, "result")) +
      " that " + (check.right == 1 ? "is" : "are") + " recorded";
  const std::string part = check.heads < check.of_heads
                               ? " (of " + describeCount(check.heads, "KV head") + " of " +
                                     describeCount(check.of_heads) + ")"
                               : "";
  const std::string right = check.right == 1 ? " is right" : " are right";
  if (wrong.place.direction == Direction::kForward)
    return computed + part + right +
           ": what is left is how out is merged from the blocks, or what is done with it after.";
  return computed + part + right +
         (wrong.tensor == "dq" ? ": what is left is dq, of which no ring step's part is "
                                 "recorded."
                               : ": what is left is how the sums of dK and dV come home.");
}

/// Returns the (batch entry, KV head) pair of the worst row.
HeadGroup worstGroup(const Trace& trace, const DiffRecord& wrong) {
  if (wrong.worst_index.size() < 2) return {};
  const bool keys = isOfKeys(TensorName::of(wrong.tensor).kind);
  const RunSpec* run = trace.run();
  const std::int64_t share =
      !keys && run && run->model.kv_heads > 0 ? run->model.heads / run->model.kv_heads : 1;
  const auto at = [&](std::size_t i) { return std::max<std::int64_t>(0, wrong.worst_index[i]); };
  return {at(0), at(1) / std::max<std::int64_t>(1, share)};
}

/// Checks the groups of ranks. Returns the first in which a ring step is wrong, or the last one.
StageCheck checkOf(const Trace& trace, const DiffRecord& wrong) {
  const LayerPass pass{wrong.place.train_step, wrong.place.layer, 0};
  const auto groups = sequenceGroups(trace);
  StageCheck best;
  best.skipped = "no rank is recorded";
  for (const auto& members : groups) {
    StageCheck check = checkStages(trace, pass, members, wrong.place.direction,
                                   worstGroup(trace, wrong), kPlaceWork / std::ssize(groups));
    if (!check.wrong.empty()) return check;
    if (!best.skipped.empty() || check.right > 0) best = std::move(check);
  }
  return best;
}

}  // namespace

std::string placeInAttention(const Trace& trace, const DiffRecord& wrong, Finding& finding) {
  if (!wrong.isolated || wrong.place.layer.isNone()) return "";
  try {
    const StageCheck check = checkOf(trace, wrong);
    if (!check.skipped.empty())
      return "Which ring step went wrong cannot be told: " + check.skipped + ".";
    if (check.wrong.empty()) return rightWords(check, wrong);
    finding.rank = check.wrong.front().rank;
    if (!check.wrong.front().on_the_way_home) finding.place.stage = check.wrong.front().ring_step;
    return foundWords(check);
  } catch (const Error&) {
    return "";  // values are damaged, which the trace's problems say
  }
}

}  // namespace ringscope::traces
