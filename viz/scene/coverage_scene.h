// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "viz/scene/ring_scene.h"

namespace ringscope::viz {

/// Whether the mask lets some query of a pair attend some key of it; unknown where documents end
/// attention and are not recorded.
enum class Wanted { kNo, kYes, kUnknown };

/// One (query chunk, key chunk) pair of a pass.
struct PairCell {
  int attended = 0;    ///< how often by each head, up to the viewed ring step
  int rank = -1;       ///< who attended it last; -1: nobody
  int ring_step = -1;  ///< when
  bool diagonal = false;
  bool now = false;
  Wanted wanted = Wanted::kYes;
};

/// The (query chunk × key chunk) matrix of one layer and direction up to the viewed ring step.
struct CoverageScene {
  int chunks = 0;
  std::vector<PairCell> cells;        ///< row by query chunk
  std::vector<double> work_done;      ///< per rank, in chunk pairs; half for a diagonal
  std::vector<double> work_total;     ///< per rank, of the whole pass
  std::vector<std::int64_t> wait_ns;  ///< per rank, for blocks, of the whole pass
  bool complete = false;              ///< the viewed ring step is the last
  int doubled = 0, missing = 0, unwanted = 0;
  int unknown = 0;  ///< not attended at the end, and the mask is not known there

  const PairCell& at(int query, int key) const {
    return cells[static_cast<std::size_t>(query * chunks + key)];
  }
  /// The rank that waits longest; -1: nobody waits.
  int longestWaiting() const;
  /// Mean work over largest work: 1 is balanced.
  double efficiency() const;
};

CoverageScene coverageScene(const traces::Trace& trace, const traces::MomentIndex& index,
                            const Place& place);

/// The efficiency that contiguous shards cannot pass under a causal mask: N / (2N − 1).
inline double contiguousCap(int ranks) {
  return ranks / (2.0 * ranks - 1);
}

}  // namespace ringscope::viz
