// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viz/scene/cursor.h"
#include "viz/scene/data.h"

namespace ringscope::viz {

/// The contribution of one stage's block to one output row, over all of its pieces.
struct MergeStep {
  RingStep ring_step = RingStep::of(0);
  WorldRank source_rank;
  bool attended = false;   ///< some piece of this stage holds a key for the row
  std::string words;       ///< where it is false: why
  double block_lse = 0;    ///< of the row's keys in this block
  double running_lse = 0;  ///< after this block
  double weight = 0;       ///< of the block in the final output: exp(block_lse − lse)
  double running_out = 0;  ///< first element, after this block, merged in fp64
  double block_out = 0;    ///< first element, of the row's keys in this block

  friend bool operator==(const MergeStep&, const MergeStep&) = default;
};

/// How one output row (rank, batch 0, head, local query) came together.
struct MergeHistory {
  WorldRank attending;           ///< who attended the row: with shared heads not always its owner
  std::vector<MergeStep> steps;  ///< in the order of the schedule
  double lse = 0;                ///< recorded
  double out = 0;                ///< recorded, first element
  double merged = 0;             ///< the blocks merged again with their weights
  double naive = 0;              ///< what adding the blocks would give
  double largest_error_merged = 0,
         largest_error_naive = 0;  ///< over the row's elements, against recorded
  double rounding = 0;             ///< error that the run's own rounding explains
  std::string missing;             ///< why nothing is shown; empty when all is there

  friend bool operator==(const MergeHistory&, const MergeHistory&) = default;
};

/// `group`: the ranks that share the sequence.
MergeHistory mergeHistory(const traces::Trace& trace, const Place& pass,
                          const std::vector<WorldRank>& group, WorldRank rank, std::int64_t head,
                          std::int64_t query);

/// One row of the output: a head, and a query among the local rows of its rank.
struct MergeRow {
  std::int64_t head = 0;
  std::int64_t query = -1;  ///< -1: the last one, which has seen the most blocks

  friend bool operator==(const MergeRow&, const MergeRow&) = default;
};

/// How a row of the selected rank came together, and where it lies.
struct MergeScene {
  std::string note;  ///< why nothing is shown; empty when something is
  WorldRank rank = WorldRank::of(0);
  Layer layer = Layer::of(0);
  MergeRow row;           ///< the one that was asked for, brought into the tensor
  TokenIndex token;       ///< of its query in the sequence; none: not recorded
  int ring_steps = 0;     ///< of the viewed pass
  RingStep now;           ///< the viewed ring step; none: backward is viewed
  bool has_sink = false;  ///< an attention sink has the weight that the blocks leave
  bool sealed = false;    ///< a quiz round: the results are not compared
  MergeHistory history;

  /// Reports whether the viewed ring step is before this one.
  bool isToCome(const MergeStep& step) const {
    return now.exists() && step.ring_step.value() > now.value();
  }
  /// Reports whether a block of the pass is still to come.
  bool isUnderWay() const;
  /// Returns the weight of a block in the result as merged up to the viewed ring step.
  double weightSoFar(const MergeStep& step) const;
  /// Returns the index of the last block that was merged into the row; nullopt: none was.
  std::optional<std::size_t> lastMerged() const;
  /// Returns the running log-sum-exp and result before a step; −inf and 0 before the first block.
  MergeStep before(std::size_t step) const;

  friend bool operator==(const MergeScene&, const MergeScene&) = default;
};

/// Makes the scene of a row. The cursor's token, if the selected rank owns it, goes before the
/// row's query.
MergeScene makeMergeScene(const traces::Trace& trace, const Cursor& cursor, MergeRow row);

}  // namespace ringscope::viz
