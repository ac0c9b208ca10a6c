// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/label_counts.h"

namespace ringscope::traces {

/// The recorded labels of a training step against the next tokens of the recorded sequences. Which
/// labels were meant is not recorded: others are wrong where a mistake gives all of them.
struct LabelCheck {
  /// What they would be with one mistake in the run.
  struct Hypothesis {
    std::string mistake, how;
    std::int64_t unlike = 0;  ///< labels that contradict it
    bool reproduces() const { return unlike == 0; }
  };
  LabelCounts counts;   ///< of all cp groups together
  std::string skipped;  ///< why none was compared; empty otherwise
  std::vector<Hypothesis>
      hypotheses;  ///< where one is not the next token, or lost: likeliest first

  bool areNextTokens() const { return counts.wrong + counts.lost == 0; }
  bool isWrong() const;
};

/// Throws inputError when values are damaged.
LabelCheck checkLabels(const Trace& trace, std::int32_t train_step);

nlohmann::json toJson(const LabelCheck& check);
std::string toText(const LabelCheck& check);

}  // namespace ringscope::traces
