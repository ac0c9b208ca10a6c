// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "traces/analysis/mistakes/catalogue/detection.h"
#include "traces/analysis/verify/hypotheses/made.h"

namespace ringscope::traces {

KeyBlocks HypothesisSetting::planned(const BlockRow& row, Direction direction,
                                     const PlannedBlocks::SourceChoice& used) const {
  const std::size_t token = tokenFor(row);
  const PlannedBlocks::Seat* seat = plan.findSeat(headFor(row), token);
  if (!seat) return {};
  const auto allowed = [this](std::size_t query, std::size_t key) {
    return allows(mask, query, key);
  };
  return plan.blocksFor(*seat, direction, token, allowed, used);
}

BlockedAttention asPlanned(const HypothesisSetting& setting) {
  return {[&setting](const BlockRow& row) { return setting.planned(row, Direction::kForward); },
          [&setting](const BlockRow& row) { return setting.planned(row, Direction::kBackward); }};
}

const std::vector<Hypothesis>& hypotheses() {
  static const std::vector<Hypothesis> kAll = [] {
    std::map<int, Hypothesis> by_order;
    for (const Detection& detection : detections())
      for (const AttentionHypothesis& hypothesis : detection.attention)
        by_order[hypothesis.order] = {detection.mistake, hypothesis.make, hypothesis.undescribed};
    std::vector<Hypothesis> all;
    all.reserve(by_order.size());
    for (const auto& [order, hypothesis] : by_order) all.push_back(hypothesis);
    return all;
  }();
  return kAll;
}

}  // namespace ringscope::traces
