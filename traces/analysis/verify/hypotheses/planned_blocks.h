// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "traces/analysis/verify/hypotheses/block_attention.h"
#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {

/// Who attends which rows of a layer, block by block, as the recorded schedules of the ranks that
/// share the sequence say it. Tokens are indices into the layer's.
class PlannedBlocks {
 public:
  /// One rank's part.
  struct Seat {
    WorldRank rank;
    const ScheduleRecord* forward = nullptr;
    const ScheduleRecord* backward = nullptr;
    std::vector<std::size_t> rows;  ///< tokens in local order; also the keys of its block
  };
  /// Whose block a rank uses in place of the planned one, and to whose dK and dV it adds.
  struct Choice {
    WorldRank values, sums;
  };
  using SourceChoice = std::function<Choice(const Seat& attending, const Seat& planned)>;
  /// Whether a query token may attend a key token.
  using KeyFilter = std::function<bool(std::size_t query, std::size_t key)>;

  /// Nothing where a schedule is missing, or they do not attend every row of the layer once.
  static std::optional<PlannedBlocks> of(const Trace& trace, const LayerTensors& layer,
                                         const std::vector<WorldRank>& members);

  /// Who attends a token for a query head of the layer; null: nobody.
  const Seat* seatOf(std::int64_t head, std::size_t token) const;
  /// It attends this token, for the heads that it attends.
  bool holds(const Seat& seat, std::size_t token) const;
  /// The layer's query head that is the first of those that it attends.
  std::int64_t firstHeadOf(const Seat& seat) const {
    return seat.forward->q_head_begin - first_head_;
  }
  /// Null: not one of them.
  const Seat* seatOf(WorldRank rank) const;
  const std::map<WorldRank, Seat>& seats() const { return seats_; }

  /// A block for each planned piece that has the token's row. `used`: empty for what was planned.
  KeyBlocks blocksOf(const Seat& seat, Direction direction, std::size_t token,
                     const KeyFilter& allowed, const SourceChoice& used = {}) const;

 private:
  std::map<WorldRank, Seat> seats_;
  std::map<WorldRank, std::vector<std::size_t>> local_;  ///< of each token; rows.size(): none
  std::int64_t first_head_ = 0;
};

}  // namespace ringscope::traces
