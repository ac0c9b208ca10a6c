// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "traces/exchange/import/recording/job.h"
#include "traces/exchange/waits/who_waits.h"

namespace ringscope::traces {

BufferNames::BufferNames(const RankLines& rank) {
  std::set<std::string> own;
  for (const Line& line : rank.lines)
    if (line.kind() == "buffer") own.insert(line.text("name"));
  const auto rename = [&](const std::string& from, const char* to) {
    if (!from.empty() && !own.contains(to)) known_.try_emplace(from, to);
  };
  std::optional<std::string> tokens;  // parameter of the first embedding, which embeds tokens
  for (const Line& line : rank.lines) {
    if (line.kind() == "embedding") {
      if (!tokens) tokens = line.text("parameter");
      if (line.text("parameter") == *tokens) rename(line.text("buffer"), "input_ids");
    }
    if (line.kind() == "loss" && !isOfFurtherHead(line))
      rename(line.text("target_buffer"), "labels");
    if (line.kind() == "given") rename(line.text("buffer"), "position_ids");
  }
}

std::string BufferNames::nameFor(const Line& buffer) const {
  const std::string own = buffer.text("name");
  if (const auto known = known_.find(own); known != known_.end()) return known->second;
  return own.empty() ? "buffer" + std::to_string(buffer.whole("index", 0)) : own;
}

namespace {

ShardRecord shardFor(const Line& line, WorldRank rank, const BufferNames& names) {
  ShardRecord shard;
  shard.buffer = names.nameFor(line);
  shard.train_step = line.place(Direction::kForward).train_step;
  shard.rank = rank;
  shard.seq_dim =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(line.whole("seq_dim", 0), 0, 15));
  shard.full_shape = line.wholes("full_shape");
  shard.local_shape = line.wholes("local_shape");
  for (const auto& [begin, end] : line.pairs("tokens"))
    shard.global_from_local.push_back({begin, end});
  return shard;
}

}  // namespace

bool RecordedJob::addShard(ShardRecord added) {
  if (shard(added.buffer, added.train_step, added.rank)) return false;
  shards_of_[{added.train_step, added.rank}].push_back(shards.size());
  shards.push_back(std::move(added));
  return true;
}

const std::vector<std::size_t>& RecordedJob::shardsFor(std::int32_t train_step,
                                                       WorldRank rank) const {
  static const std::vector<std::size_t> kNone;
  const auto found = shards_of_.find({train_step, rank});
  return found == shards_of_.end() ? kNone : found->second;
}

const ShardRecord* RecordedJob::shard(const std::string& buffer, std::int32_t train_step,
                                      WorldRank rank) const {
  for (const std::size_t at : shardsFor(train_step, rank))
    if (shards[at].buffer == buffer) return &shards[at];
  return nullptr;
}

const ShardRecord* RecordedJob::tokens(std::int32_t train_step, WorldRank rank) const {
  if (const ShardRecord* ids = shard("input_ids", train_step, rank)) return ids;
  for (const std::size_t at : shardsFor(train_step, rank))
    if (!shards[at].global_from_local.empty()) return &shards[at];
  return nullptr;
}

bool RecordedJob::forgetOtherTokens(const ShardRecord& later) {
  const ShardRecord* first = shard(later.buffer, later.train_step, later.rank);
  if (!first || first->local_shape != later.local_shape ||
      first->global_from_local == later.global_from_local)
    return false;
  shards[static_cast<std::size_t>(first - shards.data())].global_from_local.clear();
  return true;
}

void addShards(RecordedJob& job) {
  constexpr std::size_t kMostBuffers = 256;  // per batch; each is compared with the others
  std::set<WorldRank> varying;
  for (const RankLines& rank : job.ranks) {
    const BufferNames names(rank);
    bool has_more = false;
    for (const Line& line : rank.lines) {
      if (line.kind() != "buffer") continue;
      ShardRecord shard = shardFor(line, rank.rank, names);
      if (job.changes_groups) shard.global_from_local.clear();
      if (job.forgetOtherTokens(shard)) varying.insert(rank.rank);
      if (job.shardsFor(shard.train_step, rank.rank).size() < kMostBuffers)
        job.addShard(std::move(shard));
      else
        has_more = true;
    }
    if (has_more)
      job.problems.push_back("rank " + toString(rank.rank) + " cut more than " +
                             std::to_string(kMostBuffers) +
                             " buffers in a training step; the others are left out");
  }
  if (!varying.empty())
    job.lacks.push_back(describeRanks({varying.begin(), varying.end()}) +
                        " had other tokens in later microbatches of a training step than in the "
                        "first, at the same length; their tokens are known in each microbatch "
                        "and not for the whole step");
}

void RecordedJob::addMicrobatchShard(ShardRecord added) {
  const StepMicrobatch at{added.train_step, added.microbatch.value_or(0)};
  microbatch_shards_of_[{at, added.rank}].push_back(microbatch_shards.size());
  microbatch_shards.push_back(std::move(added));
}

const ShardRecord* RecordedJob::tokens(const StepMicrobatch& at, WorldRank rank) const {
  const auto found = microbatch_shards_of_.find({at, rank});
  if (found == microbatch_shards_of_.end()) return nullptr;
  const ShardRecord* any = nullptr;
  for (const std::size_t index : found->second) {
    const ShardRecord& shard = microbatch_shards[index];
    if (shard.global_from_local.empty()) continue;
    if (shard.buffer == "input_ids") return &shard;
    if (!any) any = &shard;
  }
  return any;
}

namespace {

bool areAlike(const ShardRecord& a, const ShardRecord& b) {
  return a.local_shape == b.local_shape && a.full_shape == b.full_shape &&
         a.global_from_local == b.global_from_local;
}

/// The shards of one rank's microbatches, in the order of its lines.
class ShardsByMicrobatch {
 public:
  ShardsByMicrobatch(const RankLines& rank, bool always) : rank_(rank), always_(always) {
    const BufferNames names(rank);
    for (const Line& line : rank.lines) {
      if (line.kind() == "buffer") cut(line, names);
      if (line.kind() == "attention" && line.has("ring") && line.text("direction") == "forward" &&
          line.text("pass") != "recompute")
        attend(line);
    }
  }

  /// Adds the shards of the buffers that microbatches of a training step cut differently.
  void addTo(RecordedJob& job) const {
    for (const auto& [key, of_buffer] : found_)
      if (!of_buffer.unclear && (of_buffer.differ || always_))
        for (const auto& [microbatch, shard] : of_buffer.shards) {
          ShardRecord own = shard;
          own.microbatch = microbatch;
          job.addMicrobatchShard(std::move(own));
        }
  }

 private:
  struct OfBuffer {
    ShardRecord last;
    std::vector<WorldRank> group;
    bool attended = false;  ///< since the last cut
    bool differ = false;
    bool unclear = false;  ///< which microbatch a cut is of
    std::map<std::int32_t, ShardRecord> shards;
  };

  void cut(const Line& line, const BufferNames& names) {
    ShardRecord shard = shardFor(line, rank_.rank, names);
    const auto [at, is_new] = found_.try_emplace({shard.train_step, shard.buffer});
    OfBuffer& of = at->second;
    if (!is_new && !areAlike(of.last, shard)) {
      of.differ = true;
      of.unclear = of.unclear || !of.attended;
    }
    of.last = std::move(shard);
    of.group = rank_.findMembers(line.text("group"));
    of.attended = false;
  }

  void attend(const Line& line) {
    const std::int32_t step = line.place(Direction::kForward).train_step;
    const auto group = rank_.findMembers(line.part("ring").text("group"));
    for (auto at = found_.lower_bound({step, ""}); at != found_.end() && at->first.first == step;
         ++at) {
      OfBuffer& of = at->second;
      if (of.group != group) continue;
      of.attended = true;
      const auto [known, is_new] = of.shards.try_emplace(line.microbatch(), of.last);
      if (!is_new && !areAlike(known->second, of.last)) of.unclear = true;
    }
  }

  const RankLines& rank_;
  bool always_;
  std::map<std::pair<std::int32_t, std::string>, OfBuffer> found_;  // by training step and buffer
};

}  // namespace

void addMicrobatchShards(RecordedJob& job) {
  for (const RankLines& rank : job.ranks) ShardsByMicrobatch(rank, job.changes_groups).addTo(job);
}

}  // namespace ringscope::traces
