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

/// Each part of a comparison adds what it finds to `comparison.all`, in no order, and says in
/// `left_out` what it could not compare.

/// Does a piece of it. Of values that are damaged it says so, once, in `left_out`; false then.
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

/// What differs of the configurations: `comparison.settings`.
void compareSettings(const Trace& run, const Trace& other, RunComparison& comparison);
/// Token ids, labels and position ids, by token.
void compareInputs(const Trace& run, const Trace& other, RunComparison& comparison);
/// q, k, v, out, lse, dout, dq, dk, dv of every layer whose values both have.
void compareLayers(const Trace& run, const Trace& other, RunComparison& comparison,
                   const GoOn& go_on);
/// The logged loss, gradient norm and number of targets of each training step.
void compareNumbers(const Trace& run, const Trace& other, RunComparison& comparison);
/// Gradients and weights by name where both have all of their parts; and by hashes and statistics
/// whatever no other part has compared.
void compareTensors(const Trace& run, const Trace& other, RunComparison& comparison,
                    const GoOn& go_on);

/// What only one of them has, or neither, and what would have recorded it.
void sayWhatIsLeftOut(const Trace& run, const Trace& other, const CostsByPlace& ours,
                      const CostsByPlace& theirs, RunComparison& comparison);
/// What the settings and the machines make of the numbers: `comparison.remarks`.
void remark(const Trace& run, const Trace& other, RunComparison& comparison);
/// What rounding explains: `explained` and `beyond` of `comparison.all`, which is in order.
void judge(const Trace& run, const Trace& other, RunComparison& comparison);

/// Where a tensor is on the data's way through the training steps.
using DataWay = std::tuple<std::int32_t, int, std::int32_t, int, std::string>;
DataWay wayOf(const Place& place, const std::string& tensor);

}  // namespace ringscope::traces
