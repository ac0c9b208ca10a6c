// SPDX-License-Identifier: Apache-2.0
// Shards: how buffers are cut for the ranks.
#include <algorithm>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/doctor/shard_lengths.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {

// wrong_buffer_dim: a buffer was cut along another dimension than the declared one.
namespace {

std::string shapeWords(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + ")";
}

/// Returns the dimension along which the part is shorter than the whole; −1 for none or several.
std::int32_t shorterDim(const ShardRecord& shard) {
  if (shard.full_shape.size() != shard.local_shape.size()) return -1;
  std::int32_t shorter = -1;
  for (std::size_t dim = 0; dim < shard.full_shape.size(); ++dim) {
    if (shard.local_shape[dim] >= shard.full_shape[dim]) continue;
    if (shorter >= 0) return -1;
    shorter = static_cast<std::int32_t>(dim);
  }
  return shorter;
}

/// Returns the dimension along which a buffer was cut.
std::int32_t cutDim(const ShardRecord& shard) {
  const std::int32_t shorter = shorterDim(shard);
  return shorter >= 0 ? shorter : shard.seq_dim;
}

Finding wrongBufferDimFinding(const ShardRecord& shard, std::int32_t declared) {
  return {.title = "A buffer is cut along another dimension than its sequence",
          .place = {shard.train_step},
          .rank = shard.rank,
          .buffer = shard.buffer,
          .evidence = "The sequence of " + shard.buffer + " is dimension " +
                      std::to_string(declared) + ", and it was cut along dimension " +
                      std::to_string(cutDim(shard)) + ", from " + shapeWords(shard.full_shape) +
                      " to " + shapeWords(shard.local_shape) + ".",
          .remedy =
              "Give each buffer its own sequence dimension: buffer_seq_dims=[1, 1, 1] for "
              "input_ids, labels and position_ids of shape (batch, sequence), 2 where position ids "
              "have three rows (mRoPE), 0 for freqs_cis."};
}

}  // namespace

RuleResult checkWrongBufferDim(const Trace& trace) {
  if (const auto answer = answerWithoutCp(trace)) return *answer;
  bool compared = false;
  for (const ShardRecord& shard : trace.shards()) {
    const IntentRecord* meant = trace.intent(shard.train_step, shard.rank);
    if (!shard.sharded || !meant) continue;
    const auto declared = std::ranges::find(meant->buffers, shard.buffer, &BufferIntent::name);
    if (declared == meant->buffers.end()) continue;
    compared = true;
    if (cutDim(shard) != declared->seq_dim)
      return found(wrongBufferDimFinding(shard, declared->seq_dim));
  }
  return compared ? clear()
                  : notObservable("needs how buffers were cut, and the dimension of each sequence");
}

// uneven_shards: the ranks that share a sequence together lack some of its tokens.
namespace {

/// The shards of a group's ranks at one training step.
struct GroupShards {
  std::vector<const ShardRecord*> shards;
  std::int64_t length = 0;  ///< of the sequence; 0: not known
  bool complete = true;
};

GroupShards groupShards(const Trace& trace, const char* buffer, std::int32_t train_step,
                        const std::vector<WorldRank>& members) {
  GroupShards all;
  for (const WorldRank rank : members) {
    const ShardRecord* shard = trace.findShard(buffer, train_step, rank);
    if (!shard || !shard->sharded || shard->global_from_local.empty()) {
      all.complete = false;
      continue;
    }
    all.shards.push_back(shard);
    all.length = fullLength(*shard).value_or(all.length);
  }
  return all;
}

enum class Cover { kWhole, kMissing, kRepeated };

/// Reports whether the runs of all ranks are the sequence. Sets `lost` to the first tokens that are
/// on no rank.
Cover coveredTokens(const GroupShards& of, TokenRun& lost) {
  std::vector<TokenRun> runs;
  for (const ShardRecord* shard : of.shards)
    for (const TokenRun& run : shard->global_from_local)
      if (run.end > run.begin) runs.push_back(run);
  std::ranges::sort(runs, {}, &TokenRun::begin);
  std::int64_t next = 0;
  for (const TokenRun& run : runs) {
    if (run.begin < next) return Cover::kRepeated;
    if (run.begin > next) {
      lost = {next, run.begin};
      return Cover::kMissing;
    }
    next = run.end;
  }
  lost = {next, of.length};
  return next < of.length ? Cover::kMissing : Cover::kWhole;
}

Finding unevenShardsFinding(const GroupShards& of, const TokenRun& lost) {
  const ShardRecord& first = *of.shards.front();
  const auto ranks = std::ssize(of.shards);
  return {
      .title = "Some tokens are on no rank",
      .place = {first.train_step},
      .buffer = first.buffer,
      .evidence = "The sequence has " + describeCount(of.length, "token") + ", and " +
                  (lost.end - lost.begin == 1 ? "token " + std::to_string(lost.begin) + " is"
                                              : "tokens " + std::to_string(lost.begin) + " to " +
                                                    std::to_string(lost.end - 1) + " are") +
                  " on none of its " + std::to_string(ranks) + " ranks.",
      .remedy =
          "Pad the sequence to a multiple of the number of ranks, or of twice that for a head-tail "
          "balance, before it is cut, and mask the padding; lengths that are rounded down lose the "
          "rest."};
}

}  // namespace

RuleResult checkUnevenShards(const Trace& trace) {
  if (const auto answer = answerWithoutCp(trace)) return *answer;
  bool compared = false, repeated = false, part_only = false;
  for (const auto& members : sequenceGroups(trace))
    for (const char* buffer : {"input_ids", "q"})
      for (const ShardRecord& one : trace.shards()) {
        if (one.buffer != buffer || members.empty() || one.rank != members.front()) continue;
        const GroupShards of = groupShards(trace, buffer, one.train_step, members);
        part_only = part_only || !of.complete;
        if (!of.complete || of.length == 0) continue;
        TokenRun lost;
        const Cover cover = coveredTokens(of, lost);
        if (cover == Cover::kMissing) return found(unevenShardsFinding(of, lost));
        repeated = repeated || cover == Cover::kRepeated;
        compared = compared || cover == Cover::kWhole;
      }
  if (repeated) return undecided("needs tokens that are on one rank each");
  if (compared) return clear();
  return notObservable(part_only ? "needs the tokens of all ranks that share a sequence; join the "
                                   "files of all ranks with ringscope merge"
                                 : "needs which tokens each rank has");
}

// cp_not_applied: a rank holds the whole sequence that it should share.
namespace {

/// The number of tokens that a rank has and that the sequence has; 0 when they are not recorded.
struct TokenCounts {
  std::int64_t own = 0, all = 0;
};

TokenCounts tokenCounts(const ShardRecord& shard) {
  const auto own = localLength(shard), all = fullLength(shard);
  return own && all ? TokenCounts{*own, *all} : TokenCounts{};
}

Finding cpNotAppliedFinding(const ShardRecord& shard, const TokenCounts& part, std::size_t whole,
                            std::size_t ranks) {
  return {.severity = Severity::kWarning,
          .title = "The sequence stays whole on ranks that should share it",
          .place = {shard.train_step},
          .rank = shard.rank,
          .buffer = shard.buffer,
          .evidence = "Rank " + toString(shard.rank) + " holds all " +
                      describeCount(part.all, "token") + " of a sequence that is configured for " +
                      std::to_string(ranks) + " ranks, as do " + std::to_string(whole) +
                      " of these " + std::to_string(ranks) +
                      ": each does the work and needs the memory of the whole sequence, and the "
                      "numbers are right nevertheless.",
          .remedy =
              "Enter the context that shards the buffers (context_parallel, or the model's Ulysses "
              "or ring patch) around the step, and check that it patches this model: shapes of "
              "activations must fall with cp."};
}

}  // namespace

RuleResult checkCpNotApplied(const Trace& trace) {
  if (const auto answer = answerWithoutAnyCp(trace)) return *answer;
  bool compared = false;
  const GroupsByMicrobatch groups(trace);
  for (const auto* shards : {&trace.shards(), &trace.microbatchShards()})
    for (const ShardRecord& shard : *shards) {
      const GroupRecord* group = groups.group(shard.rank, shard.train_step, shard.microbatch);
      const TokenCounts part = tokenCounts(shard);
      if (!isOfTokens(shard) || !shard.sharded || !group || group->members.size() < 2 ||
          part.all < 2)
        continue;
      compared = true;
      if (part.own < part.all) continue;
      std::size_t whole = 0;
      for (const WorldRank rank : group->members) {
        const ShardRecord* other =
            trace.findShard(shard.buffer, shard.train_step, rank, shard.microbatch);
        if (other && tokenCounts(*other).own >= part.all) ++whole;
      }
      return found(cpNotAppliedFinding(shard, part, whole, group->members.size()));
    }
  return compared ? clear()
                  : notObservable("needs how the tokens of ranks were cut that share a sequence");
}

}  // namespace ringscope::traces
