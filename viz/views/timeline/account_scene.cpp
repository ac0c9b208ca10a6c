// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/account_scene.h"

#include "viz/scene/groups.h"

namespace ringscope::viz {

StepAccount makeStepAccount(const traces::Trace& trace, const Cursor& cursor) {
  return makeStepAccount(trace, cursor.place.train_step, groupRanks(trace, cursor.group));
}

}  // namespace ringscope::viz
