// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>

#include "viz/scene/data.h"

namespace ringscope::viz {

/// "sample, 2 layers · 256 tokens · 4 ranks · ring, head_tail, causal": the run on show, as it was
/// carried out. `live`: the trace still grows. Empty where nothing says what run it is.
std::string runHeadline(const traces::Trace& trace, bool live);

/// The sources of the status line beside the trace.
struct StatusSources {
  const traces::WorstDiffs& worst;
  const std::optional<traces::Diagnosis>& diagnosis;
  std::optional<std::string> live;  ///< what a run that goes on says; nothing: it is a recording
};

/// Describes the run and its results: "recorded · 4 ranks on 2 cores (virtual: overlap is the
/// scheduler’s) · 1,204 events · 0 dropped · worst 0.9× limit (layer 2, dk) · 1 finding".
std::string runStatus(const traces::Trace& trace, const StatusSources& sources);

}  // namespace ringscope::viz
