// SPDX-License-Identifier: Apache-2.0
#include "engine/sharding/shard_layout.h"

#include <algorithm>

#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

constexpr std::pair<Balance, const char*> kNames[] = {{Balance::kNone, "none"},
                                                      {Balance::kHeadTail, "head_tail"},
                                                      {Balance::kStriped, "striped"},
                                                      {Balance::kPerDocument, "per_document"}};

void requireDivisible(const std::string& what, std::int64_t length, std::int64_t parts,
                      const std::string& parts_text) {
  if (length > 0 && length % parts == 0) return;
  const std::int64_t below = length / parts * parts;
  std::string remedy = "use a multiple of " + std::to_string(parts) + ", such as ";
  if (below > 0) remedy += std::to_string(below) + " or ";
  throw usageError(what + " of " + std::to_string(length) + " does not divide into " + parts_text +
                   "; " + remedy + std::to_string(below + parts) + ", or pad it with --pad");
}

std::string partsText(Balance balance, int cp_size) {
  const std::string cp = std::to_string(cp_size);
  if (lengthUnit(balance, cp_size) == cp_size) return "cp = " + cp + " shards";
  return "2·cp = " + std::to_string(2 * cp_size) + " chunks, which " + name(balance) + " needs";
}

}  // namespace

const char* name(Balance balance) {
  for (const auto& [value, text] : kNames)
    if (value == balance) return text;
  return "";
}

Balance parseBalance(const std::string& asked) {
  std::string known;
  for (const auto& [value, text] : kNames) {
    if (asked == text) return value;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw usageError("there is no balance '" + asked + "'; use " + known);
}

std::int64_t lengthUnit(Balance balance, int cp_size) {
  const bool halves = balance == Balance::kHeadTail || balance == Balance::kPerDocument;
  return halves ? 2 * cp_size : cp_size;
}

ShardLayout::ShardLayout(std::int64_t length, int cp_size, Balance balance,
                         const std::vector<TokenRun>& documents)
    : length_(length), balance_(balance) {
  if (cp_size < 1) throw usageError("cp must be at least 1, not " + std::to_string(cp_size));
  shards_.resize(static_cast<std::size_t>(cp_size));
  if (balance == Balance::kPerDocument) {
    dealDocuments(documents);
    return;
  }
  requireDivisible("a length", length, lengthUnit(balance, cp_size), partsText(balance, cp_size));
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

void ShardLayout::dealDocuments(const std::vector<TokenRun>& documents) {
  if (documents.empty())
    throw usageError(
        "per_document deals documents out, and there are none; choose balance none, "
        "head_tail or striped, or give cu_seqlens");
  std::int64_t next = 0;
  for (const TokenRun& document : documents) {
    if (document.begin != next)
      throw usageError("the documents leave a gap before token " + std::to_string(document.begin));
    next = document.end;
    requireDivisible("a document", document.end - document.begin, lengthUnit(balance_, cpSize()),
                     partsText(balance_, cpSize()));
    dealHeadTail(document.begin, document.end - document.begin);
  }
  if (next != length_)
    throw usageError("the documents end at token " + std::to_string(next) + " of " +
                     std::to_string(length_));
}

std::vector<ShardLayout::Segment> ShardLayout::segments(int first_rank, int group) const {
  std::vector<Segment> all;
  for (int member = 0; member < group; ++member) {
    std::int64_t offset = 0;
    for (const ShardRun& run : shard(first_rank + member)) {
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
  ShardLayout layout;
  layout.length_ = length_;
  layout.balance_ = balance_;
  for (int rank = 0; rank < cpSize(); rank += group) {
    layout.shards_.emplace_back();
    for (const Segment& segment : segments(rank, group)) {
      auto& runs = layout.shards_.back();
      // Runs that follow each other are one.
      if (!runs.empty() && segment.run.stride == 1 &&
          runs.back().begin + runs.back().count == segment.run.begin)
        runs.back().count += segment.run.count;
      else
        runs.push_back(segment.run);
    }
  }
  return layout;
}

std::vector<TokenRun> ShardLayout::runs(int rank) const {
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

std::vector<std::int64_t> ShardLayout::globalFromLocal(int rank) const {
  std::vector<std::int64_t> indices;
  for (const ShardRun& run : shard(rank))
    for (std::int64_t i = 0; i < run.count; ++i) indices.push_back(run.global(i));
  return indices;
}

std::vector<std::int64_t> ShardLayout::rearrange() const {
  std::vector<std::int64_t> indices;
  for (int rank = 0; rank < cpSize(); ++rank) {
    const auto local = globalFromLocal(rank);
    indices.insert(indices.end(), local.begin(), local.end());
  }
  return indices;
}

std::vector<std::int64_t> ShardLayout::restore() const {
  const auto order = rearrange();
  std::vector<std::int64_t> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return inverse;
}

}  // namespace ringscope::engine
