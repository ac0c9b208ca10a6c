// SPDX-License-Identifier: Apache-2.0
// Mistakes in how blocks are put together.
#include <algorithm>
#include <cmath>

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

/// Rounds to the precision of bfloat16, to even.
double toBfloat16(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  constexpr int kBits = 8;
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, kBits)), exponent - kBits);
}

/// Returns the blocks with the first one first, and the others in the order of a ring that turns
/// the other way.
BlockedAttention turnedRound(BlockedAttention how) {
  how.forward = [blocks = how.forward](const BlockRow& row) {
    KeyBlocks turned = blocks(row);
    if (!turned.empty()) std::reverse(turned.begin() + 1, turned.end());
    return turned;
  };
  return how;
}

}  // namespace

std::vector<BlockedAttention> plainSum(const HypothesisSetting& setting) {
  std::vector<BlockedAttention> all = {merged(setting, Merge::kPlainSum)};
  if (!setting.plan.isAssumed()) return all;
  all.push_back(merged(setting, Merge::kMean));
  all.back().divisor = static_cast<double>(setting.plan.seats().size());
  all.back().how = "the sum is divided by the number of ranks";
  return all;
}

std::vector<BlockedAttention> baseTwo(const HypothesisSetting& setting) {
  std::vector<BlockedAttention> all = {merged(setting, Merge::kBaseTwo)};
  if (!setting.plan.isAssumed()) return all;
  all.push_back(merged(setting, Merge::kPowersOfTwo));
  all.back().how = "the merge takes natural logarithms for logarithms to base 2";
  return all;
}

std::vector<BlockedAttention> lowPrecision(const HypothesisSetting& setting) {
  std::vector<BlockedAttention> all;
  for (const auto& [out, lse] : {std::pair(false, true), {true, false}, {true, true}}) {
    BlockedAttention how = asPlanned(setting);
    if (out) how.round_out = toBfloat16;
    if (lse) how.round_lse = toBfloat16;
    how.how = std::string("the running ") +
              (out && lse ? "out and lse are"
               : out      ? "out is"
                          : "lse is") +
              " rounded to bfloat16";
    all.push_back(turnedRound(how));
    all.push_back(std::move(how));
  }
  return all;
}

std::vector<BlockedAttention> sumsOfStage(const HypothesisSetting& setting) {
  std::vector<BlockedAttention> all;
  for (const auto& [delta, lse] : {std::pair(true, true), {true, false}, {false, true}}) {
    BlockedAttention& how = all.emplace_back(asPlanned(setting));
    how.delta_of_stage = delta;
    how.lse_of_stage = lse;
    if (delta != lse) how.how = std::string(delta ? "delta" : "lse") + " is that of the block";
  }
  return all;
}

}  // namespace ringscope::traces
