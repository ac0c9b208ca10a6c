// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/schema/event.h"
#include "traces/format/schema/run_spec.h"
#include "traces/plan/rank_order.h"

namespace ringscope::traces {

/// The order in which KV blocks go round a ring of `size` ranks in one direction of a layer.
struct RingOrder {
  int size = 1;
  int towards = 1;       ///< blocks go to the next rank (1) or to the previous rank (-1)
  int first_source = 0;  ///< the owner of the first block, counted in ranks after the rank itself

  static RingOrder of(int size, Direction direction, Order order);
  GroupRank next(GroupRank rank) const { return roundRing(rank, towards, size); }
  GroupRank previous(GroupRank rank) const { return roundRing(rank, -towards, size); }
  /// Returns the rank whose block `rank` holds at a ring step.
  GroupRank source(GroupRank rank, int step) const {
    return roundRing(rank, first_source - towards * step, size);
  }
};

}  // namespace ringscope::traces
