// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/pieces.h"

namespace ringscope::engine {

std::vector<Piece> piecesFor(const ShardLayout& layout, const Mask& mask, GroupRank query_rank,
                             GroupRank source_rank) {
  return traces::piecesOf(layout.shard(query_rank), layout.shard(source_rank), mask);
}

traces::WhyEmpty whyEmpty(const ShardLayout& layout, const Mask& mask, GroupRank query_rank,
                          GroupRank source_rank) {
  using traces::WhyEmpty;
  auto attends_nothing = [&](const Mask& part) {
    return piecesFor(layout, part, query_rank, source_rank).empty();
  };
  if (!attends_nothing(mask)) return WhyEmpty::kAttends;
  if (mask.causal && attends_nothing(Mask::causalMask())) return WhyEmpty::kFuture;
  // What is not in the future is refused by the window or by the documents, or by either.
  if (attends_nothing({mask.causal, mask.window, {}})) return WhyEmpty::kOutOfWindow;
  if (attends_nothing({mask.causal, 0, mask.documents})) return WhyEmpty::kOtherDocument;
  return WhyEmpty::kSeveralReasons;
}

}  // namespace ringscope::engine
