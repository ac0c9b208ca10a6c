// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Returns a finding of merges of gathered partial outputs that a known mistake reproduces.
std::optional<Finding> wrongPartialMerge(const Trace& trace);

/// Returns a finding of a new token whose key and value several ranks keep, so that right merges of
/// their partial outputs count it several times.
std::optional<Finding> tokenKeptTwice(const Trace& trace);

/// Returns a finding of a causal convolution that begins with zeros on every rank of a sequence.
std::optional<Finding> convolutionWithoutHalo(const Trace& trace);

}  // namespace ringscope::traces
