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

/// Returns a finding of a causal convolution that begins with zeros on every rank of a sequence,
/// while ranks hand a state of earlier tokens over to each other.
std::optional<Finding> convolutionWithoutHalo(const Trace& trace);

/// Returns a finding of media features that all ranks have, and of which each rank uses the first
/// ones. Together the ranks have as many places for them as there are features.
std::optional<Finding> featuresFromTheFirst(const Trace& trace);

}  // namespace ringscope::traces
