// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>

#include "traces/analysis/report/markdown.h"
#include "viz/share/view_frames.h"

namespace ringscope::viz {

/// The number of ring steps that a page shows of a long recording, unless a range is chosen.
inline constexpr int kMostSharedSteps = 64;

/// The counts of a written page.
struct SharedPage {
  int views = 0, ring_steps = 0, frames = 0;
  std::int64_t bytes = 0;
  std::vector<std::string> left_out;  ///< sentences without the full stop
};

/// Returns the facts about a recording that reports and pages state.
traces::Report makeReport(const Session& session, const std::string& recording);

/// Writes a page that shows a recording without this program and without a network: the findings,
/// the summary, and the frames of views with a player. The session has a diagnosis. Throws
/// usageError for an impossible choice or when `goes_on` returns false, and inputError when the
/// file cannot be written.
SharedPage writeSharedPage(const Session& session, const std::string& recording,
                           const ShareChoice& choice, const std::string& output,
                           const std::function<bool()>& goes_on);

}  // namespace ringscope::viz
