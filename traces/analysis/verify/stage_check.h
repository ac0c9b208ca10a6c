// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/comparison.h"

namespace ringscope::traces {

/// What one rank computed of one source's block at one ring step, where that is not what the
/// recorded q, k, v and dout give.
struct WrongStage {
  WorldRank rank, source;
  RingStep ring_step;
  PieceIndex piece;  ///< none: of all pieces of this source together
  /// block_out or block_lse, of one piece; running_lse: the merge; dk or dv: what this ring step
  /// adds to the sum that travels; dq: its part of dq, which is in it `times` times; other: it
  /// attended other pieces than were planned.
  TensorKind kind = TensorKind::kBlockOut;
  RowError worst;                   ///< nothing of kOther
  std::vector<std::int64_t> heads;  ///< of its wrong rows, ascending; of dk and dv KV heads
  std::vector<TokenRun> tokens;     ///< of its wrong rows
  double times = 1;                 ///< of dq
  WorldRank before;                 ///< of dk and dv: who had the sums until then; none: nobody
  bool on_the_way_home = false;     ///< of dk and dv: right so far, and not when it is `rank`'s own
  std::string attended;             ///< of kOther: "queries 0–3 × keys 0–7, planned is …"
};

/// The ring steps of one layer in one direction, each computed again by itself.
struct StageCheck {
  /// Of the first ring step that has any, the worst first; of dq one a rank.
  std::vector<WrongStage> wrong;
  std::int64_t right = 0;  ///< results that are right, of the ring steps before it, or of all
  std::int64_t heads = 0, of_heads = 0;  ///< (batch entry, KV head) pairs that were computed
  std::string skipped;                   ///< why nothing was computed; empty otherwise
};

/// Computes each planned piece again in fp64 from the recorded q, k and v (backward: and dout, out
/// and lse), ring step by ring step, until one is wrong. Forward compares block_out, block_lse, and
/// running_lse with what the recorded blocks give; backward what each ring step adds to dK and dV,
/// where their sums are recorded as they travel, then the last of them with the layer's dk and dv,
/// and then which ring step's part explains a dq that is wrong, since no parts of it are recorded.
/// `first`: the pair that is computed before others; `work`: at most about so many multiply-adds.
/// Throws inputError when recorded values are damaged.
StageCheck checkStages(const Trace& trace, const LayerPass& pass,
                       const std::vector<WorldRank>& members, Direction direction, HeadGroup first,
                       double work);

}  // namespace ringscope::traces
