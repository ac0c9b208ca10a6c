// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "traces/analysis/doctor/attention_passes.h"
#include "traces/analysis/verify/recompute/mask.h"

namespace ringscope::traces {

/// Wrong pairs of one sort, and the first piece that has some.
struct WrongPairs {
  double pairs = 0;
  const Event* first = nullptr;
  std::map<WorldRank, double> by_source{};

  void add(double more, const Event& piece) {
    if (more <= 0) return;
    if (!first) first = &piece;
    pairs += more;
    by_source[piece.source_rank] += more;
  }
};

/// (query, key) pairs that one rank attended in one pass. Pairs too many are counted once, by the
/// first reason: order, then window, then documents.
struct CoverageTally {
  double wanted = 0;             ///< of its rows with all keys of its ring
  double without_documents = 0;  ///< the same under a mask that knows of no documents
  double inside = 0;             ///< attended and wanted, a pair as often as it was attended
  double elsewhere = 0;          ///< attended with keys of other ranks
  /// Wanted with keys of its own block and not attended; counted only where it attends no other.
  double missing_own = 0;
  /// No pair is missing but those of rows that a jump of the rank's tokens parts, and none of them
  /// is attended; looked at only if any are missing.
  bool ends_at_jumps = false;
  double of_padding = 0;  ///< of `documents`: those of one document and the padding behind it
  WrongPairs future_own, future, window, documents, repeated;
  WrongPairs again;  ///< of `repeated`: those that another ring step has attended already
  /// Whether no band limits the attended later keys, and whether all keys of a block that left the
  /// window are attended. Both are true when the mask is not known, and false when it is off.
  bool without_order = true, without_window = true;
  WrongPairs
      cut;  ///< wanted, and left out by a piece's causal mask; counted only if any are missing
  bool certain = true;    ///< false: a tile mask of a piece was not recorded
  std::string unknown{};  ///< why the tally is not known; empty where it is

  double missing() const { return wanted - (inside - repeated.pairs); }
  /// Every pair of the mask once, and no other.
  bool isAsDeclared() const {
    return unknown.empty() && !(missing() > 0) && !(repeated.pairs > 0) && !(future.pairs > 0) &&
           !(future_own.pairs > 0) && !(window.pairs > 0) && !(documents.pairs > 0);
  }
};

/// Counts what the ranks of a group attended, by runs of tokens.
class CoverageCounter {
 public:
  CoverageCounter(const Trace& trace, const std::vector<WorldRank>& members)
      : trace_(trace), members_(members) {}

  /// Counts the pairs of the rank with this index in the group.
  CoverageTally count(const AttentionPass& pass, std::size_t seat, const IntentRecord& meant);
  /// All that count() depends on, as numbers: equal for passes with equal tallies.
  std::vector<std::int64_t> signature(const AttentionPass& pass) const;

 private:
  /// The largest number of pairs of runs or pieces that are compared in one rank's pass.
  static constexpr std::size_t kMostCells = std::size_t{1} << 22;
  static constexpr const char* kStrides = "needs shards whose runs of tokens have one stride";

  /// A run of tokens and the local row of its first.
  struct PlacedRun {
    ShardRun run;
    std::int64_t at = 0;
    std::int64_t end() const { return at + run.count; }
  };
  struct Masks {
    AttentionMask all, without_documents, order_only, with_padding, without_window;
  };

  /// Gives a single token the stride of the other run; false where they have different ones.
  static bool haveOneStride(ShardRun& q, ShardRun& k);
  /// Runs that follow each other as one.
  static std::vector<PlacedRun> withoutJumps(const std::vector<PlacedRun>& rows);
  const std::vector<PlacedRun>& rowsFor(const Place& place, std::int32_t microbatch,
                                        WorldRank rank);
  void countWanted(CoverageTally& tally, const Masks& masks, const AttentionPass& pass,
                   WorldRank rank);
  double pairsOfBlock(CoverageTally& tally, const AttentionMask& mask, const AttentionPass& pass,
                      WorldRank rank, WorldRank source);
  bool endsAtJumps(CoverageTally& tally, const AttentionMask& mask, const AttentionPass& pass,
                   std::size_t seat);
  void addPiece(CoverageTally& tally, const Masks& masks, const Event& piece);
  static void addCell(CoverageTally& tally, const Masks& masks, const Event& piece, ShardRun q,
                      ShardRun k, Band part, Band whole, bool planned);
  void addCut(CoverageTally& tally, const AttentionMask& mask, const Event& piece,
              const std::vector<const Event*>& pieces);
  void addRepeated(CoverageTally& tally, std::vector<const Event*> pieces) const;

  const Trace& trace_;
  const std::vector<WorldRank>& members_;
  /// By microbatch, direction and rank. The microbatch is 0 where all have the same tokens.
  std::map<std::tuple<StepMicrobatch, Direction, WorldRank>, std::vector<PlacedRun>> rows_;
  std::size_t cells_ = 0;  // of one count()
};

}  // namespace ringscope::traces
