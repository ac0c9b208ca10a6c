// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/merge_reading.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// The values of a tensor that are not finite.
struct Content {
  bool known = true;  ///< false: the sign of what is infinite was not kept
  bool nan = false, plus = false, minus = false;
  std::vector<double> values{};  ///< where some are infinite
};

/// The forward pass of one layer on one rank.
struct Merges {
  std::vector<const TensorRecord*> blocks, running, block_outs;
  const TensorRecord* out = nullptr;
  std::vector<Content> contents;  ///< of the blocks, while they are judged
  std::vector<std::optional<std::int64_t>>
      attended;  ///< when each block was, while they are judged
};
using LayerAt = std::tuple<std::int32_t, std::int32_t, Layer>;
using MergesAt = std::map<std::pair<LayerAt, WorldRank>, Merges>;

MergesAt mergesOf(const Trace& trace) {
  MergesAt all;
  for (const TensorRecord& tensor : trace.tensors()) {
    if (tensor.place.direction == Direction::kBackward || tensor.pass != Pass::kForward) continue;
    const auto merges = [&]() -> Merges& {
      return all[{{tensor.place.train_step, tensor.microbatch, tensor.place.layer}, tensor.rank}];
    };
    if (tensor.tensor.kind == TensorKind::kBlockLse)
      merges().blocks.push_back(&tensor);
    else if (tensor.tensor.kind == TensorKind::kRunningLse)
      merges().running.push_back(&tensor);
    else if (tensor.tensor.kind == TensorKind::kBlockOut)
      merges().block_outs.push_back(&tensor);
    else if (tensor.tensor.kind == TensorKind::kOut)
      merges().out = &tensor;
  }
  return all;
}

Content readContent(const Trace& trace, const TensorRecord& tensor) {
  Content content;
  content.nan = tensor.stats.nan > 0;
  if (tensor.stats.inf == 0) return content;
  auto values = trace.values(tensor);
  content.known = values.has_value();
  if (!values) return content;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  content.plus = std::ranges::find(*values, kInfinity) != values->end();
  content.minus = std::ranges::find(*values, -kInfinity) != values->end();
  content.values = std::move(*values);
  return content;
}

/// The first row of the running result that a block is of.
std::size_t firstRow(const Trace& trace, const TensorRecord& block) {
  for (const Event& event : trace.eventsAt(block.place, block.rank))
    if (event.kind == EventKind::kAttend && event.source_rank == block.source_rank &&
        event.piece == block.piece && event.q_begin >= 0)
      return static_cast<std::size_t>(event.q_begin);
  return 0;
}

/// When a rank first attended the block of a source at a place; none: that is not recorded.
std::optional<std::int64_t> attendedAt(const Trace& trace, const TensorRecord& tensor) {
  std::optional<std::int64_t> first;
  for (const Event& event : trace.eventsAt(tensor.place, tensor.rank))
    if (event.kind == EventKind::kAttend && event.source_rank == tensor.source_rank)
      first = std::min(first.value_or(event.begin_ns), event.begin_ns);
  return first;
}

/// Returns the blocks before a running result. Gathered blocks are all of one ring step, one after
/// the other.
bool isMergedBy(const TensorRecord& block, std::optional<std::int64_t> block_attended,
                const TensorRecord& running, std::optional<std::int64_t> running_attended) {
  if (block.place.stage != running.place.stage) return block.place.stage < running.place.stage;
  if (block.source_rank == running.source_rank || running.source_rank.isNone()) return true;
  return !block_attended || !running_attended || *block_attended <= *running_attended;
}

/// A row that is −inf though this block has a key for it.
bool losesRow(const Trace& trace, const Content& running, const TensorRecord& record,
              const TensorRecord& block) {
  if (block.shape.size() != 3 || record.shape.size() != 3 || block.shape[0] != record.shape[0] ||
      block.shape[1] != record.shape[1])
    return false;
  const auto values = trace.values(block);
  const auto rows = static_cast<std::size_t>(block.shape[2]),
             all = static_cast<std::size_t>(record.shape[2]), first = firstRow(trace, block);
  if (!values || rows == 0 || first + rows > all) return false;
  for (std::size_t i = 0; i < values->size(); ++i)
    if (const double merged = running.values.at(i / rows * all + first + i % rows);
        std::isfinite((*values)[i]) && std::isinf(merged) && merged < 0)
      return true;
  return false;
}

MergeReading ofNoBlocks(const TensorRecord& made) {
  MergeReading judged;
  judged.smallest = std::numeric_limits<double>::infinity();
  judged.largest = -judged.smallest;
  judged.made = &made;
  return judged;
}

void addBlock(MergeReading& judged, const TensorRecord& block, const Content& content) {
  judged.rows_without_keys = judged.rows_without_keys || content.minus;
  judged.smallest = std::min(judged.smallest, block.stats.min);
  judged.largest = std::max(judged.largest, block.stats.max);
}

MergeReading judge(const Trace& trace, const Merges& merges, const TensorRecord& running) {
  MergeReading judged = ofNoBlocks(running);
  const Content made = readContent(trace, running);
  const auto attended = attendedAt(trace, running);
  bool known = made.known, bad = false, lost = false, any = false;
  for (std::size_t i = 0; i < merges.blocks.size(); ++i) {
    const TensorRecord* block = merges.blocks[i];
    const Content& content = merges.contents[i];
    if (!isMergedBy(*block, merges.attended[i], running, attended)) continue;
    any = true;
    known = known && content.known;
    bad = bad || content.nan || content.plus;
    addBlock(judged, *block, content);
    // The running result of an earlier ring step shows what its merge lost.
    if (made.minus && block->place.stage == running.place.stage)
      lost = lost || losesRow(trace, made, running, *block);
  }
  judged.is = MergeIs::kRight;
  const bool odd = made.nan || made.plus || lost;
  if (bad)
    judged.is = MergeIs::kOfBadBlocks;
  else if (!any || !known)
    judged.is = MergeIs::kUnknown;
  else if (odd)
    judged.is = made.nan ? MergeIs::kNotANumber : made.plus ? MergeIs::kInfinite : MergeIs::kLost;
  return judged;
}

/// Returns the ranks whose blocks may be part of a rank's out: all that share its sequence.
std::vector<WorldRank> sharersOf(const Trace& trace, WorldRank rank) {
  for (auto& members : sequenceGroups(trace))
    if (std::ranges::find(members, rank) != members.end()) return members;
  return {rank};
}

/// Whether they all have blocks there, and finite ones: heads that ranks share go home after.
bool areFinite(const Trace& trace, const MergesAt& all, const LayerAt& layer, WorldRank rank) {
  for (const WorldRank member : sharersOf(trace, rank)) {
    const auto of_member = all.find({layer, member});
    if (of_member == all.end() || of_member->second.block_outs.empty()) return false;
    for (const auto* blocks : {&of_member->second.block_outs, &of_member->second.blocks})
      for (const TensorRecord* block : *blocks)
        if (block->stats.nan > 0 ||
            (blocks == &of_member->second.block_outs && block->stats.inf > 0))
          return false;
  }
  return true;
}

/// Judges blocks that have a key in every row, whose running_lse tells the result of the merge.
std::optional<MergeReading> badOut(const Merges& merges) {
  if (!merges.out || merges.out->stats.nan == 0) return std::nullopt;
  MergeReading judged = ofNoBlocks(*merges.out);
  for (std::size_t i = 0; i < merges.blocks.size(); ++i) {
    const Content& content = merges.contents[i];
    if (!content.known || content.nan || content.plus) return std::nullopt;
    addBlock(judged, *merges.blocks[i], content);
  }
  if (!judged.rows_without_keys) return std::nullopt;
  judged.is = MergeIs::kOutNotANumber;
  return judged;
}

}  // namespace

/// All of them.
MergeReading readMerges(const Trace& trace) {
  bool right = false, by_values = false, unknown = false;
  MergesAt all = mergesOf(trace);
  for (auto& [at, merges] : all) {
    for (const TensorRecord* block : merges.blocks) {
      merges.contents.push_back(readContent(trace, *block));
      merges.attended.push_back(attendedAt(trace, *block));
    }
    for (const TensorRecord* running : merges.running) {
      const MergeReading judged = judge(trace, merges, *running);
      if (judged.is == MergeIs::kUnknown) {
        unknown = true;
      } else if (judged.is == MergeIs::kRight) {
        right = true;
        by_values = by_values || running->has_values;
      } else if (judged.is != MergeIs::kOfBadBlocks) {
        return judged;
      }
    }
    if (auto judged = badOut(merges); judged && areFinite(trace, all, at.first, at.second))
      return *judged;
    merges.contents.clear();
    merges.attended.clear();
  }
  MergeReading reading;
  if (right && (by_values || !unknown)) reading.is = MergeIs::kRight;
  return reading;
}

}  // namespace ringscope::traces
