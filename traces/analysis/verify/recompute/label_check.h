// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/label_counts.h"

namespace ringscope::traces {

/// The comparison of the recorded labels of a training step with the next tokens of the recorded
/// sequences. The intended labels are not recorded. Labels that differ are therefore wrong only
/// when a mistake reproduces all of them.
struct LabelCheck {
  /// The labels that the run would have with one mistake.
  struct Hypothesis {
    std::string mistake, how;
    std::int64_t unlike = 0;  ///< number of labels that contradict it
    bool reproduces() const { return unlike == 0; }
  };
  LabelCounts counts;   ///< counts of all cp groups together
  bool stated = false;  ///< a run of RingScope states whether sequences go on
  std::string skipped;  ///< reason why no label was compared; empty otherwise
  std::vector<Hypothesis>
      hypotheses;  ///< likeliest first; only if a label is lost or is not the next token

  bool areNextTokens() const { return counts.wrong + counts.lost == 0; }
  /// Reports whether documents that end with the shards would have these labels as well.
  bool mayBeDocuments() const;
  bool isWrong() const;
};

/// Checks a training step. Throws inputError when values are damaged.
LabelCheck checkLabels(const Trace& trace, std::int32_t train_step);

nlohmann::json toJson(const LabelCheck& check);
std::string toText(const LabelCheck& check);

}  // namespace ringscope::traces
