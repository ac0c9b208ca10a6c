// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "traces/format/schema/band.h"
#include "traces/format/schema/schedule_record.h"
#include "traces/format/schema/work.h"
#include "viz/scene/data.h"

namespace ringscope::viz {
using traces::Band;

/// A cell of the (query chunk × key chunk) matrix of one rank.
struct CoverageCell {
  int query_chunk = 0, key_chunk = 0;
  WorldRank source_rank = WorldRank::of(0);
  bool diagonal = false;  ///< only its causal half
  bool now = false;       ///< attended in this ring step, otherwise in an earlier one

  friend bool operator==(const CoverageCell&, const CoverageCell&) = default;
};

/// Local rows [begin, end) of what a rank attends with, all of one chunk.
struct LocalRun {
  std::int64_t begin = 0, end = 0;
  int chunk = 0;

  friend bool operator==(const LocalRun&, const LocalRun&) = default;
};

/// The recorded attention of a group's ranks in one pass: their schedules, and the sequence cut
/// into chunks at every border of a rank's rows. With striped shards, the rows of each rank are one
/// chunk. Holds pointers into the trace.
class GroupPass {
 public:
  /// `pass`: any place of it.
  GroupPass(const traces::Trace& trace, const Place& pass, const std::vector<WorldRank>& ranks);

  const std::vector<WorldRank>& ranks() const { return ranks_; }
  /// None: the rank is not of this group.
  GroupRank rankSeat(WorldRank rank) const;
  /// Returns the schedule of a rank; null when it is not recorded.
  const traces::ScheduleRecord* schedule(WorldRank rank) const;
  /// Every rank's schedule is recorded.
  bool recorded() const;
  /// The stage in which the rank attends the block of `source` at a ring step, or null.
  const traces::StageRecord* stage(WorldRank rank, RingStep ring_step, WorldRank source) const;
  /// Ring steps that the schedules have; 0 where there are none.
  int ringSteps() const;

  /// Ascending by their first token.
  const std::vector<traces::ShardRun>& chunks() const { return chunks_; }
  /// There are more chunks or runs than can be shown; rows() is then empty.
  bool tooMany() const { return too_many_; }
  /// The rows that a rank attends with, which are also the keys of its block.
  const std::vector<LocalRun>& rows(WorldRank rank) const;
  /// The chunks that a rank owns, ascending; empty: not recorded.
  std::vector<int> ownedChunks(WorldRank rank) const;
  /// The local row of a token in what a rank attends with; -1: it has none.
  std::int64_t localRow(WorldRank rank, TokenIndex token) const;

 private:
  void cutSequence();
  void placeRows();
  std::vector<traces::ShardRun> ownRuns(WorldRank rank) const;
  void addChunks(const traces::ShardRun& run, std::int64_t at, std::vector<LocalRun>& to) const;

  const traces::Trace& trace_;
  std::int32_t train_step_;
  std::vector<WorldRank> ranks_;
  std::vector<const traces::ScheduleRecord*> schedules_;  // by seat
  std::vector<traces::ShardRun> chunks_;
  std::vector<std::vector<LocalRun>> rows_;  // by seat
  bool too_many_ = false;
};

/// Ranks that share heads with the first of a group, by its schedule; 1: nobody does.
int headsSharedBy(const GroupPass& pass);

/// Adds what one piece attends; a pair of chunks that several pieces attend is one cell.
void addCells(std::vector<CoverageCell>& cells, const Band& band,
              const std::vector<LocalRun>& queries, const std::vector<LocalRun>& keys,
              WorldRank source, bool now);

/// "queries 2, 5 × keys 1" of the cells that are attended now; empty: there are none.
std::string describeCells(const std::vector<CoverageCell>& cells);

/// "0, 7" or "0–7": three or more in a row as a range.
std::string listedNumbers(std::vector<int> numbers);
/// The same of ranks.
std::string listedRanks(const std::vector<WorldRank>& ranks);

}  // namespace ringscope::viz
