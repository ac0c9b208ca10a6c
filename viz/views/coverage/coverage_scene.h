// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viz/scene/cursor.h"
#include "viz/scene/data.h"

namespace ringscope::viz {

/// One (query chunk, key chunk) cell of a pass, for a head.
struct PairCell {
  double attended = 0;           ///< (query, key) pairs, up to the viewed ring step
  std::optional<double> wanted;  ///< pairs that the mask has here; nothing: not recorded
  RingStep ring_step;            ///< when some were last attended
  bool diagonal = false;
  bool now = false;

  bool masked() const { return wanted == 0.0; }
  bool operator==(const PairCell&) const = default;
};

/// The (query chunk × key chunk) matrix of one layer and direction up to the viewed ring step.
struct CoverageScene {
  std::string note;  ///< why there is no matrix; empty when there is one
  int train_step = 0;
  int chunks = 0;
  int heads_shared_by = 1;                   ///< ranks that attend each cell, each for its heads
  WorldRank selected = WorldRank::of(0);     ///< rank
  std::vector<WorldRank> ranks;              ///< of the group; what is per rank is in their order
  std::vector<TokenIndex> last_tokens;       ///< of each chunk
  std::vector<PairCell> cells;               ///< row by query chunk
  std::vector<WorldRank> painters;           ///< of each cell, heads_shared_by ranks; none: nobody
  std::vector<double> work_done;             ///< per rank: pairs per head, see pairsPerHead()
  std::vector<double> work_total;            ///< per rank, of the whole pass as it was scheduled
  std::vector<std::int64_t> wait_ns;         ///< per rank, of the whole pass
  bool complete = false;                     ///< the viewed ring step is the last
  int doubled = 0, missing = 0, partly = 0;  ///< cells: attended too often, not at all, in part
  int unwanted = 0;                          ///< cells attended that the mask does not have
  bool sealed = false;                       ///< a quiz round: no cell is a fault
  bool wanted_known = true;                  ///< the mask is recorded
  std::string mask_advice;                   ///< what would have recorded it
  /// The efficiency that contiguous shards would have; nothing: the mask is not causal alone.
  std::optional<double> contiguous;

  std::size_t indexOf(int query, int key) const {
    return static_cast<std::size_t>(query) * static_cast<std::size_t>(chunks) +
           static_cast<std::size_t>(key);
  }
  const PairCell& at(int query, int key) const { return cells[indexOf(query, key)]; }
  /// Returns the ranks that attended a cell, one per share of the heads; none for a share of
  /// nobody.
  std::vector<WorldRank> pairPainters(int query, int key) const;
  bool faulty() const { return doubled + missing + partly + unwanted > 0; }
  bool isFault(const PairCell& cell) const;
  /// The rank that waits longest; none: nobody waits.
  WorldRank longestWaiting() const;
  /// Mean work over largest work: 1 is balanced.
  double efficiency() const;

  bool operator==(const CoverageScene&) const = default;
};

/// Makes the scene of the cursor's pass and group.
CoverageScene makeCoverageScene(const traces::Trace& trace, const Cursor& cursor);

/// Whether every pair of the mask is attended once, in a sentence; or why that cannot be seen.
std::string describe(const CoverageScene& scene);
/// Says which ranks attended one cell, and when.
std::string describePair(const CoverageScene& scene, int query_chunk, int key_chunk);

}  // namespace ringscope::viz
