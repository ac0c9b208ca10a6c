// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/trace/called_losses.h"

namespace ringscope::traces {

/// The weight of one target and the number of targets, of a call in a microbatch of a rank.
struct Weighed {
  WorldRank rank;
  std::int32_t microbatch = 0;
  double weight = 0, targets = 0;
  std::int64_t tokens = 0;
};

/// Reports whether all numbers are equal up to this share of the largest.
bool areNear(const std::vector<double>& numbers, double share);

/// Reports whether a call has one weight for all of its targets.
bool hasOneWeight(const CalledLoss& call);

/// Describes a weight: "0.01 on rank 1, which has 12 targets". `microbatches`: names the
/// microbatch.
std::string describeWeight(const Weighed& one, bool microbatches);

}  // namespace ringscope::traces
