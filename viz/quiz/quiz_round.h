// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/format/schema/run_spec.h"

namespace ringscope::viz {

/// One round of a quiz: a run with one mistake, and the mistakes to choose from.
struct QuizRound {
  int number = 1;  ///< counted from 1
  traces::RunSpec run;
  std::string mistake;               ///< id of the injected mistake
  std::vector<std::string> answers;  ///< ids in the order of the list; one of them is `mistake`

  friend bool operator==(const QuizRound&, const QuizRound&) = default;
};

/// Returns the mistakes of the catalogue that a run can make and that a recording of the run shows.
std::vector<std::string> quizMistakes(const traces::RunSpec& run);

/// Draws the rounds of a seed. One seed gives the same rounds on every machine with this version,
/// and no mistake comes twice while there are others. `base` has the model of all runs.
std::vector<QuizRound> drawRounds(const traces::RunSpec& base, std::uint32_t seed, int count);

}  // namespace ringscope::viz
