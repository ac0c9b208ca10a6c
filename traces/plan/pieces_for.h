// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/format/schema/event.h"
#include "traces/format/schema/pieces.h"
#include "traces/plan/mask.h"

namespace ringscope::traces {

/// Returns the pieces in which `query_rank` attends the KV block of `source_rank`; none when the
/// mask leaves no pair. Pure. Every strategy, work count and coverage check uses this list.
std::vector<Piece> piecesFor(const ShardLayout& layout, const Mask& mask, GroupRank query_rank,
                             GroupRank source_rank);

/// Returns why `query_rank` attends nothing of the KV block of `source_rank`; kAttends when it
/// attends something. Pure.
WhyEmpty whyEmpty(const ShardLayout& layout, const Mask& mask, GroupRank query_rank,
                  GroupRank source_rank);

}  // namespace ringscope::traces
