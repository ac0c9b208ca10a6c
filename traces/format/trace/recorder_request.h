// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The options with which the Python recorder recorded a job (kRecorderNote).
struct RecorderRequest {
  std::string values;  ///< "auto", "all" or "none"; empty: unknown
  /// The runs [begin, end) of the training steps to record; nullopt: all, or unknown.
  std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> steps;
  std::int64_t budget_bytes = 0;  ///< bytes per rank; 0: unknown
  /// The numbers of tensors without values: because of `values` and its size limit, and because of
  /// the budget. Both are nullopt when a rank did not write its last line, which counts them.
  std::optional<std::int64_t> left_out_by_policy, left_out_by_budget;
  bool kept_values = false;  ///< the recording has values of at least one tensor
  bool ring = false;         ///< PyTorch's ring computed attention
  bool annotated = false;    ///< the job named its attention to the recorder
  bool recognised = false;   ///< the recorder recognised attention that the job computes itself
  bool own_mask = false;     ///< that attention has a mask of all ranks' tokens, made by the job

  bool recorded(std::int32_t train_step) const;
  /// Reports whether values="all" could keep values that this recording lacks. `small` restricts
  /// the question to token ids, positions and targets, which only "none" leaves out.
  bool allWouldKeepMore(bool small) const;
};

/// Returns the options; nullopt for a recording that the Python recorder did not make.
std::optional<RecorderRequest> recorderRequest(const Trace& trace);

/// Reports whether the recorder recognised attention that the job computes itself.
bool hasRecognisedAttention(const Trace& trace);

}  // namespace ringscope::traces
