// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// How the Python recorder was asked to record a job (kRecorderNote).
struct RecorderRequest {
  std::string values;  ///< "auto", "all" or "none"; empty: the recording does not say
  /// Runs [begin, end) of the training steps to record; nullopt: all, or the recording does not
  /// say.
  std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> steps;
  std::int64_t budget_bytes = 0;  ///< of each rank; 0: the recording does not say
  /// Tensors without values because of `values` and its size limit, and because of the budget;
  /// nullopt where a rank did not write its last line, which counts them.
  std::optional<std::int64_t> left_out_by_policy, left_out_by_budget;
  bool kept_values = false;  ///< the recording has values of some tensor
  bool ring = false;         ///< PyTorch's ring computed attention
  bool annotated = false;    ///< the job named its attention to the recorder

  bool recorded(std::int32_t train_step) const;
  /// Whether values="all" can keep values that this recording lacks; `small`: of token ids,
  /// positions and targets, which only "none" leaves out.
  bool allWouldKeepMore(bool small) const;
};

/// Nothing of a recording that the Python recorder did not make.
std::optional<RecorderRequest> recorderRequest(const Trace& trace);

}  // namespace ringscope::traces
