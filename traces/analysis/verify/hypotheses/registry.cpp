// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/hypotheses/made.h"

namespace ringscope::traces {

KeyBlocks HypothesisSetting::planned(const BlockRow& row, Direction direction,
                                     const PlannedBlocks::SourceChoice& used) const {
  const std::size_t token = tokenOf(row);
  const PlannedBlocks::Seat* seat = plan.seatOf(headOf(row), token);
  if (!seat) return {};
  const auto allowed = [this](std::size_t query, std::size_t key) {
    return allows(mask, query, key);
  };
  return plan.blocksOf(*seat, direction, token, allowed, used);
}

BlockedAttention asPlanned(const HypothesisSetting& setting) {
  return {[&setting](const BlockRow& row) { return setting.planned(row, Direction::kForward); },
          [&setting](const BlockRow& row) { return setting.planned(row, Direction::kBackward); }};
}

const std::vector<Hypothesis>& hypotheses() {
  static const std::vector<Hypothesis> kAll = {
      {"without_window", withoutWindow},
      {"across_documents", acrossDocuments},
      {"future_blocks", futureBlocks},
      {"own_blocks", ownBlocks},
      {"mirrored_ring", mirroredRing},
      {"own_values", ownValues},
      {"first_values", firstValues},
      {"plain_sum", plainSum},
      {"base_two", baseTwo},
      {"delta_of_stage", deltaOfStage},
      {"own_values_backward", ownValuesBackward},
      {"displaced_sums", displacedSums},
  };
  return kAll;
}

}  // namespace ringscope::traces
