// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/window/notice_bar.h"
#include "viz/window/runs_button.h"

namespace ringscope::viz {

/// Removes the oldest unpinned runs when all of them take more than the limit, and says which.
void removeOldRuns(RunFolder& runs, qint64 limit, NoticeBar& notice);
/// Says which runs the end of the next run removes. A smaller limit removes nothing before.
void announceRemoval(const RunFolder& runs, qint64 limit, NoticeBar& notice);

}  // namespace ringscope::viz
