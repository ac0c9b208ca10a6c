// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/unknown_structure.h"

#include "traces/analysis/doctor/block_pairing.h"
#include "traces/analysis/doctor/linear_biases.h"
#include "traces/analysis/doctor/observed_faults.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/repeated_keys.h"
#include "traces/analysis/doctor/shard_borders.h"
#include "traces/format/core/error.h"

namespace ringscope::traces {

std::optional<Finding> unknownStructure(const Readings& readings) try {
  if (auto finding = attentionEndsAtShards(readings)) return finding;
  for (const auto& find :
       {wrongPartialMerge, tokenKeptTwice, convolutionWithoutHalo, featuresFromTheFirst,
        ringOfLocalDistances, keysCountedOnEveryRank, valuesBehindKeys, ownMaskOnAllBlocks})
    if (auto finding = find(readings.trace())) return finding;
  return partsAttendEachOther(readings);
} catch (const Error&) {
  return std::nullopt;  // what cannot be read is told beside the findings
}

}  // namespace ringscope::traces
