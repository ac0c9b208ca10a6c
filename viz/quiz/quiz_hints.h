// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/doctor/diagnosis.h"

namespace ringscope::viz {

/// The place that an answer names. A part that is nullopt was not named.
struct NamedPlace {
  std::optional<int> rank, train_step, layer;

  bool isEmpty() const { return !rank && !train_step && !layer; }
  /// "rank 2 · layer 0"; empty when nothing is named.
  std::string describe() const;
  friend bool operator==(const NamedPlace&, const NamedPlace&) = default;
};

/// Returns the hints about a mistake, the vaguest first: the pass, the view, the subject.
std::vector<std::string> quizHints(const std::string& mistake);

/// Reports whether the doctor's evidence of the mistake has every part that the answer names.
/// Returns nullopt if the answer names no part, or the doctor has no evidence.
std::optional<bool> isPlaceRight(const NamedPlace& place, const std::string& mistake,
                                 const traces::Diagnosis& diagnosis);

}  // namespace ringscope::viz
