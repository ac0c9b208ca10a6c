// SPDX-License-Identifier: Apache-2.0
// Mistakes in how blocks are put together.
#include "traces/analysis/verify/hypotheses/made.h"

namespace ringscope::traces {
namespace {

using Merge = BlockedAttention::Merge;

/// Returns the planned attention, merged another way.
BlockedAttention merged(const HypothesisSetting& setting, Merge merge) {
  BlockedAttention how = asPlanned(setting);
  how.merge = merge;
  return how;
}

}  // namespace

std::optional<BlockedAttention> plainSum(const HypothesisSetting& setting) {
  return merged(setting, Merge::kPlainSum);
}

std::optional<BlockedAttention> baseTwo(const HypothesisSetting& setting) {
  return merged(setting, Merge::kBaseTwo);
}

std::optional<BlockedAttention> deltaOfStage(const HypothesisSetting& setting) {
  BlockedAttention how = asPlanned(setting);
  how.delta_of_stage = true;
  return how;
}

}  // namespace ringscope::traces
