// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "traces/analysis/verify/recompute/attention.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The source of the statement about how the scores of an attention are made.
enum class StatedBy {
  kNobody,   ///< the job computes attention itself and says nothing; 1 / √head_dim is a guess
  kDefault,  ///< attention was called without a scale, which means 1 / √head_dim
  kCall,     ///< an argument of attention
  kModel,    ///< the model: its configuration, or an attribute of the layer's module
};

struct StatedScores {
  ScoreRule rule;
  StatedBy by = StatedBy::kNobody;
  /// Keys that a query sees, its own included, as an attribute of the layer's module says; 0: no
  /// module states a window.
  std::int64_t window = 0;
};

/// Returns how the scores of a layer's attention are meant to be made, as far as it is recorded.
StatedScores statedScores(const Trace& trace, Layer layer, std::int64_t head_dim);

/// Returns a positive number that a note states under `key`; 0: it states none.
double positiveFact(const nlohmann::json& facts, const char* key);

/// Returns the source of a scale as part of a sentence: "an argument of attention".
const char* describe(StatedBy by);

}  // namespace ringscope::traces
