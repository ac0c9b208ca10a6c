// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/comparison.h"
#include "traces/format/schema/token_runs.h"

namespace ringscope::traces {

/// One row of attention, whose keys are unknown.
struct RowOfUnknownKeys {
  std::span<const double> out;      ///< [width]
  std::span<const double> weights;  ///< exp(score) of each key, up to a common factor
  std::span<const double> v;        ///< [keys, width]
  double tolerance = 0;             ///< of out, in proportion to the largest row of v
  double sink = 0;                  ///< weight of the head's sink; 0: it has none
};

/// Returns up to two runs of keys whose attention gives the row, ascending; nullopt when there are
/// none. A row of zeros attends no key. All pairs of runs are tried if there are few keys. If there
/// are more, the first run begins at key 0 and the last one ends at the key `own`.
std::optional<std::vector<TokenRun>> findRowKeys(const RowOfUnknownKeys& row, std::int64_t own);

/// Returns a sentence about the keys that wrong rows of out attend. Returns nullopt when a row of
/// the sample is no attention of up to two runs of keys. `out` compares all rows of the selection
/// with the stated mask.
std::optional<std::string> findOtherKeys(const Trace& trace, const LayerTensors& layer,
                                         const Selection& selection, const TensorCheck& out);

}  // namespace ringscope::traces
