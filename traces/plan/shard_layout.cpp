// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/shard_layout.h"

#include <algorithm>

#include "traces/format/core/error.h"
#include "traces/plan/balance.h"
#include "traces/plan/block_dealing.h"
#include "traces/plan/run_rules.h"

namespace ringscope::traces {
namespace {

void requireDivisible(const char* what, std::int64_t length, Balance balance, int cp_size) {
  if (const auto reason = lengthRefusal(what, length, balance, cp_size)) throw usageError(*reason);
}

void requireDocuments(Balance balance, const std::vector<TokenRun>& documents) {
  if (documents.empty())
    throw usageError(std::string(name(balance)) +
                     " deals documents out, and there are none; choose balance none, "
                     "head_tail or striped, or give cu_seqlens");
}

/// Appends a run. Runs that follow each other become one.
void appendRun(std::vector<ShardRun>& runs, const ShardRun& run) {
  if (!runs.empty() && run.stride == 1 && runs.back().begin + runs.back().count == run.begin)
    runs.back().count += run.count;
  else
    runs.push_back(run);
}

}  // namespace

ShardLayout::ShardLayout(std::int64_t length, int cp_size, Balance balance,
                         const std::vector<TokenRun>& documents)
    : length_(length), balance_(balance) {
  if (cp_size < 1) throw usageError("cp must be at least 1, not " + std::to_string(cp_size));
  shards_.resize(static_cast<std::size_t>(cp_size));
  if (dealsDocuments(balance)) {
    dealDocuments(documents);
    return;
  }
  requireDivisible("a length", length, balance, cp_size);
  if (balance == Balance::kPtrr) {
    dealByWork(documents);
    return;
  }
  if (balance == Balance::kHeadTail) {
    dealHeadTail(0, length);
    return;
  }
  const std::int64_t size = length / cp_size;
  for (int rank = 0; rank < cp_size; ++rank)
    shards_[static_cast<std::size_t>(rank)] = {balance == Balance::kStriped
                                                   ? ShardRun{rank, size, cp_size}
                                                   : ShardRun{rank * size, size, 1}};
}

void ShardLayout::dealHeadTail(std::int64_t begin, std::int64_t length) {
  const auto chunks = static_cast<std::int64_t>(2 * shards_.size());
  const std::int64_t size = length / chunks;
  for (std::size_t rank = 0; rank < shards_.size(); ++rank) {
    const auto head = static_cast<std::int64_t>(rank), tail = chunks - 1 - head;
    shards_[rank].push_back({begin + head * size, size, 1});
    shards_[rank].push_back({begin + tail * size, size, 1});
  }
}

void ShardLayout::dealByWork(const std::vector<TokenRun>& documents) {
  requireDocuments(balance_, documents);
  const auto blocks = dealBlocks(BlockDealing::kRoundRobin, length_, documents,
                                 ptrrBlock(length_, cpSize()), cpSize());
  for (std::size_t rank = 0; rank < shards_.size(); ++rank)
    for (const ShardRun& block : blocks[rank]) appendRun(shards_[rank], block);
}

void ShardLayout::dealDocuments(const std::vector<TokenRun>& documents) {
  requireDocuments(balance_, documents);
  std::int64_t next = 0;
  for (const TokenRun& document : documents) {
    if (document.begin != next)
      throw usageError("the documents leave a gap before token " + std::to_string(document.begin));
    next = document.end;
    requireDivisible("a document", document.end - document.begin, balance_, cpSize());
    dealHeadTail(document.begin, document.end - document.begin);
  }
  if (next != length_)
    throw usageError("the documents end at token " + std::to_string(next) + " of " +
                     std::to_string(length_));
}

std::vector<ShardLayout::Segment> ShardLayout::segments(GroupRank first_rank, int group) const {
  std::vector<Segment> all;
  for (const GroupRank member : everyRank(group)) {
    std::int64_t offset = 0;
    for (const ShardRun& run : shard(GroupRank::of(first_rank.value() + member.value()))) {
      all.push_back({member, offset, run});
      offset += run.count;
    }
  }
  if (balance_ != Balance::kStriped)
    std::sort(all.begin(), all.end(),
              [](const Segment& a, const Segment& b) { return a.run.begin < b.run.begin; });
  return all;
}

ShardLayout ShardLayout::joined(int group) const {
  // Ranks that are not joined keep their runs; a rank that has the whole sequence holds it as one
  // run.
  if (group == 1 && cpSize() > 1) return *this;
  ShardLayout layout;
  layout.length_ = length_;
  layout.balance_ = balance_;
  for (const GroupRank rank : ranksFrom(GroupRank::of(0), cpSize() / group, group)) {
    layout.shards_.emplace_back();
    for (const Segment& segment : segments(rank, group)) {
      appendRun(layout.shards_.back(), segment.run);
    }
  }
  return layout;
}

std::vector<TokenRun> ShardLayout::runs(GroupRank rank) const {
  std::vector<TokenRun> runs;
  for (const ShardRun& run : shard(rank)) {
    if (run.stride == 1) {
      runs.push_back({run.begin, run.begin + run.count});
      continue;
    }
    for (std::int64_t i = 0; i < run.count; ++i) runs.push_back({run.global(i), run.global(i) + 1});
  }
  return runs;
}

std::vector<TokenIndex> ShardLayout::globalFromLocal(GroupRank rank) const {
  std::vector<TokenIndex> indices;
  for (const ShardRun& run : shard(rank))
    for (std::int64_t i = 0; i < run.count; ++i) indices.push_back(TokenIndex::of(run.global(i)));
  return indices;
}

std::vector<std::int64_t> ShardLayout::rearrange() const {
  std::vector<std::int64_t> indices;
  for (const GroupRank rank : everyRank(cpSize()))
    for (const TokenIndex token : globalFromLocal(rank)) indices.push_back(token.value());
  return indices;
}

std::vector<std::int64_t> ShardLayout::restore() const {
  const auto order = rearrange();
  std::vector<std::int64_t> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return inverse;
}

}  // namespace ringscope::traces
