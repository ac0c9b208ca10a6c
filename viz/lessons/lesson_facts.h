// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viz/scene/cursor.h"

namespace ringscope::viz {

/// A number or a word that a learner reads from a view. The scene of that view computes it.
struct LessonFact {
  double number = 0;
  double tolerance = 0;  ///< how far a number that was read from the view may be off
  std::string word;      ///< the number with its unit, or the word itself

  friend bool operator==(const LessonFact&, const LessonFact&) = default;
};

/// Returns the names of all facts.
const std::vector<std::string>& factNames();

/// Returns a fact of a recording at the cursor; nullopt if the recording does not contain it.
/// Throws usageError for an unknown name.
std::optional<LessonFact> readFact(const std::string& name, const traces::Trace& trace,
                                   const Cursor& cursor);

}  // namespace ringscope::viz
