// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

// Averages that a rank of a recorded PyTorch job computes of what becomes its loss.

/// A division by counts between the logits and the loss of a rank.
struct LossQuotient {
  std::int32_t microbatch = 0;
  std::int64_t tokens = 0;        ///< of the rank
  std::vector<double> counts;     ///< one, or one for each batch entry
  std::vector<double> gradients;  ///< that backward brings to each quotient; NaN: they are several
};

/// A variable of the job, one number per token of the rank, whose mean is 0 and whose standard
/// deviation is 1 over these tokens.
struct StandardizedPart {
  std::int32_t microbatch = 0;
  std::string name;
  std::string mask;        ///< variable that masks the tokens; empty: all tokens
  std::int64_t count = 0;  ///< tokens under the mask
};

/// Returns those of a rank in a training step, in order; empty when there are none.
std::vector<LossQuotient> lossQuotients(const Trace& trace, std::int32_t train_step,
                                        WorldRank rank);
std::vector<StandardizedPart> standardizedParts(const Trace& trace, std::int32_t train_step,
                                                WorldRank rank);

/// Returns the norm of the parts of gradients that each rank's optimizer is given in a training
/// step; empty unless every rank holds parts alone.
std::vector<double> normsOfParts(const Trace& trace, std::int32_t train_step);
/// The key of the note with these norms: {"RANK": norm}.
std::string normsOfPartsKey(std::int32_t train_step);

/// The keys of the notes of a training step: {"RANK": [object, …]}.
std::string lossQuotientsKey(std::int32_t train_step);
std::string standardizedPartsKey(std::int32_t train_step);
nlohmann::json toJson(const LossQuotient& quotient);
nlohmann::json toJson(const StandardizedPart& part);

}  // namespace ringscope::traces
