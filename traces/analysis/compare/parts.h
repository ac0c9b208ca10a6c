// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "traces/analysis/compare/run_comparison.h"
#include "traces/format/core/error.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The parts of a comparison. Each part adds its findings to `comparison.all`, in any order, and
/// says in `left_out` what it could not compare.

/// Runs a piece of a part. If values are damaged, adds the error to `left_out` once and returns
/// false.
template <typename Piece>
bool unlessDamaged(RunComparison& comparison, const Piece& piece) {
  try {
    piece();
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInput) throw;
    if (std::ranges::find(comparison.left_out, error.what()) == comparison.left_out.end())
      comparison.left_out.emplace_back(error.what());
    return false;
  }
}

/// Compares the configurations and sets `comparison.settings`.
void compareSettings(const Trace& run, const Trace& other, RunComparison& comparison);
/// Compares token ids, labels and position ids by token.
void compareInputs(const Trace& run, const Trace& other, RunComparison& comparison);
/// Compares q, k, v, out, lse, dout, dq, dk, dv of every layer that has values in both.
void compareLayers(const Trace& run, const Trace& other, RunComparison& comparison,
                   const GoOn& go_on);
/// Compares the logged loss, gradient norm and number of targets of each training step.
void compareNumbers(const Trace& run, const Trace& other, RunComparison& comparison);
/// Compares gradients and weights by name when both recordings have all of their parts. Compares
/// everything that no other part has compared by hashes and statistics.
void compareTensors(const Trace& run, const Trace& other, RunComparison& comparison,
                    const GoOn& go_on);

/// Describes what only one of the recordings has, or neither, and what would have recorded it.
void sayWhatIsLeftOut(const Trace& run, const Trace& other, const CostsByPlace& ours,
                      const CostsByPlace& theirs, RunComparison& comparison);
/// Sets `comparison.remarks`: how settings and machines affect the numbers.
void remark(const Trace& run, const Trace& other, RunComparison& comparison);
/// Decides what rounding explains: sets `explained` and `beyond` in `comparison.all`, which must be
/// sorted.
void judge(const Trace& run, const Trace& other, RunComparison& comparison);

/// The position of a tensor in the flow of data through the training steps.
using DataWay = std::tuple<std::int32_t, int, std::int32_t, int, std::string>;
DataWay findWay(const Place& place, const std::string& tensor);

}  // namespace ringscope::traces
