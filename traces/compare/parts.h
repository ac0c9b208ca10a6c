// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/compare/run_comparison.h"

namespace ringscope::traces {

/// Each part of a comparison adds what it finds to `comparison.all`, in no order, and says in
/// `left_out` what it could not compare.

/// Token ids, labels and position ids, by token.
void compareInputs(const Trace& run, const Trace& other, RunComparison& comparison);
/// q, k, v, out, lse, dout, dq, dk, dv of every layer whose values both have.
void compareLayers(const Trace& run, const Trace& other, RunComparison& comparison);
/// The logged loss, gradient norm and number of targets of each training step.
void compareNumbers(const Trace& run, const Trace& other, RunComparison& comparison);
/// Gradients and weights by name where both have all of their parts; and by hashes and statistics
/// whatever no other part has compared.
void compareTensors(const Trace& run, const Trace& other, RunComparison& comparison);

/// Whether a tensor of this place and name is compared already.
bool isCompared(const RunComparison& comparison, const Place& place, const std::string& tensor);

}  // namespace ringscope::traces
