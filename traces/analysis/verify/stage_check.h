// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/comparison.h"

namespace ringscope::traces {

/// A wrong result of one rank at one ring step: it differs from the result that the recorded q, k,
/// v and dout give for the block of `source`.
struct WrongStage {
  WorldRank rank, source;
  RingStep ring_step;
  PieceIndex piece;  ///< none: all pieces of this source together
  /// The wrong result:
  /// - kBlockOut, kBlockLse: the attention of one piece.
  /// - kRunningLse: the merge.
  /// - kDk, kDv: the part that this ring step adds to the travelling sum.
  /// - kDq: the part of this ring step, which dq contains `times` times.
  /// - kOther: the rank attended other pieces than were planned.
  TensorKind kind = TensorKind::kBlockOut;
  RowError worst;                   ///< empty for kOther
  std::vector<std::int64_t> heads;  ///< heads of the wrong rows, ascending; KV heads for kDk, kDv
  std::vector<TokenRun> tokens;     ///< tokens of the wrong rows
  double times = 1;                 ///< for kDq
  WorldRank before;                 ///< for kDk, kDv: the rank that had the sums before, if any
  bool on_the_way_home = false;     ///< for kDk, kDv: became wrong on the last hop, to its own rank
  std::string attended;             ///< for kOther: "queries 0–3 × keys 0–7, planned is …"
};

/// The ring steps of one layer in one direction, each computed again by itself.
struct StageCheck {
  /// The wrong results of the first ring step that has any, the worst first. Each rank has at most
  /// one of kind kDq.
  std::vector<WrongStage> wrong;
  std::int64_t right = 0;  ///< number of right results in the ring steps before the wrong one
  std::int64_t heads = 0, of_heads = 0;  ///< (batch entry, KV head) pairs: computed, and all
  std::string skipped;                   ///< why nothing was computed; empty otherwise
};

/// Computes each planned piece again in fp64, ring step by ring step, until one is wrong. The
/// inputs are the recorded q, k and v, and in backward also dout, out and lse.
///
/// Forward compares block_out and block_lse with these results, and running_lse with the merge of
/// the recorded blocks. Backward makes three comparisons:
/// - the part that each ring step adds to dK and dV, if the travelling sums were recorded;
/// - the last of these sums with the layer's dk and dv;
/// - a wrong dq with each ring step's part, because parts of dq are never recorded.
///
/// Begins with the pair `first`, and takes at most about `work` multiply-adds. Throws inputError
/// when recorded values are damaged.
StageCheck checkStages(const Trace& trace, const LayerPass& pass,
                       const std::vector<WorldRank>& members, Direction direction, HeadGroup first,
                       double work);

}  // namespace ringscope::traces
