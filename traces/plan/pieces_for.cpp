// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/pieces_for.h"

namespace ringscope::traces {

std::vector<Piece> piecesFor(const ShardLayout& layout, const Mask& mask, GroupRank query_rank,
                             GroupRank source_rank) {
  return piecesBetween(layout.shard(query_rank), layout.shard(source_rank), mask);
}

WhyEmpty whyEmpty(const ShardLayout& layout, const Mask& mask, GroupRank query_rank,
                  GroupRank source_rank) {
  auto attends_nothing = [&](const Mask& part) {
    return piecesFor(layout, part, query_rank, source_rank).empty();
  };
  if (!attends_nothing(mask)) return WhyEmpty::kAttends;
  if (mask.causal && attends_nothing(Mask::causalMask())) return WhyEmpty::kFuture;
  // The window, the documents or either of them exclude the keys that are not in the future.
  if (attends_nothing({mask.causal, mask.window, {}})) return WhyEmpty::kOutOfWindow;
  if (attends_nothing({mask.causal, 0, mask.documents})) return WhyEmpty::kOtherDocument;
  return WhyEmpty::kSeveralReasons;
}

}  // namespace ringscope::traces
