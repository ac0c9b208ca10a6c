// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "traces/analysis/verify/hypotheses/block_attention.h"
#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {

/// The rows that each rank attends in a layer, block by block, by the recorded schedules of the
/// ranks that share the sequence, or by the order of a ring. Tokens are indices into the layer's
/// tokens.
class PlannedBlocks {
 public:
  PlannedBlocks(const PlannedBlocks&) = delete;  // seats point to ring_
  PlannedBlocks(PlannedBlocks&&) = default;
  PlannedBlocks& operator=(const PlannedBlocks&) = delete;

  /// One rank's part.
  struct Seat {
    WorldRank rank;
    const ScheduleRecord* forward = nullptr;
    const ScheduleRecord* backward = nullptr;
    std::vector<std::size_t> rows;  ///< tokens in local order; also the keys of its block
  };
  /// The ranks that a mistake puts in the place of the planned one.
  /// - values: the rank whose block is used; no rank: the block is left out.
  /// - sums: the rank to whose dK and dV the gradients are added; no rank: they are lost.
  struct Choice {
    WorldRank values, sums;
  };
  using SourceChoice = std::function<Choice(const Seat& attending, const Seat& planned)>;
  /// Whether a query token may attend a key token.
  using KeyFilter = std::function<bool(std::size_t query, std::size_t key)>;

  /// Returns nullopt when a schedule is missing, or the schedules do not attend every row once.
  static std::optional<PlannedBlocks> of(const Trace& trace, const LayerTensors& layer,
                                         const std::vector<WorldRank>& members);
  /// Returns the blocks of a ring for a layer without recorded schedules. Each rank attends its own
  /// tokens and the whole block of one rank per ring step. Returns nullopt when a schedule is
  /// recorded, or the ranks do not have all heads of their own tokens.
  static std::optional<PlannedBlocks> ofRing(const Trace& trace, const LayerTensors& layer,
                                             const std::vector<WorldRank>& members);

  /// Reports whether no schedule is recorded and the blocks are those of a ring.
  bool isAssumed() const { return !ring_.empty(); }
  /// Returns the rank that attends a token for a query head of the layer; null when none does.
  const Seat* findSeat(std::int64_t head, std::size_t token) const;
  /// Returns the index of a token among a rank's rows.
  std::size_t localRow(const Seat& seat, std::size_t token) const {
    return local_.at(seat.rank)[token];
  }
  /// Reports whether the rank attends this token, for the heads that it attends.
  bool holds(const Seat& seat, std::size_t token) const;
  /// Returns the first query head of the layer that the rank attends.
  std::int64_t firstHeadAt(const Seat& seat) const {
    return seat.forward->q_head_begin - first_head_;
  }
  /// Null: not one of them.
  const Seat* findSeat(WorldRank rank) const;
  const std::map<WorldRank, Seat>& seats() const { return seats_; }

  /// A block for each planned piece that has the token's row. `used`: empty for what was planned.
  KeyBlocks blocksFor(const Seat& seat, Direction direction, std::size_t token,
                      const KeyFilter& allowed, const SourceChoice& used = {}) const;

 private:
  PlannedBlocks() = default;
  void addSeat(Seat seat, std::size_t tokens);

  std::map<WorldRank, ScheduleRecord> ring_;  ///< of ofRing()
  std::map<WorldRank, Seat> seats_;
  std::map<WorldRank, std::vector<std::size_t>> local_;  ///< of each token; rows.size(): none
  std::int64_t first_head_ = 0;
};

}  // namespace ringscope::traces
