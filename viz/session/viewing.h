// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/session/comparison.h"
#include "viz/session/live_reads.h"
#include "viz/session/player.h"

namespace ringscope::viz {

/// The data, the cursor and the player that every view is given. A change of the data reaches the
/// cursor before it reaches any view.
struct Viewing {
  Session session;
  LiveReads live;
  Navigator navigator{session};
  Player player{session, navigator};
  Comparison comparison{session};
};

}  // namespace ringscope::viz
