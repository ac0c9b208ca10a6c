// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/mask.h"

#include <algorithm>
#include <limits>

#include "traces/format/core/floor_div.h"
#include "traces/format/schema/pieces.h"
#include "traces/format/schema/token_runs.h"

namespace ringscope::traces {

AttentionMask AttentionMask::of(const IntentRecord& intent) {
  const bool by_document = intent.mask == MaskKind::kDocuments || !intent.documents.empty();
  return {intent.mask != MaskKind::kFull, intent.window, by_document, intent.documents};
}

TokenRun AttentionMask::keysFor(TokenIndex query) const {
  const std::int64_t token = query.value();
  TokenRun keys{0, std::numeric_limits<std::int64_t>::max()};
  if (by_document) {
    const TokenRun* document = runWith(documents, query);
    if (!document) return {};
    keys = *document;
  }
  if (causal) keys.end = std::min(keys.end, token + 1);
  if (window > 0) keys.begin = std::max(keys.begin, token - window + 1);
  return keys;
}

Band AttentionMask::near(const ShardRun& queries, const ShardRun& keys, Band part) const {
  // The tokens of query i and key j of the runs are ahead + stride · (i − j) apart.
  const std::int64_t ahead = queries.begin - keys.begin, stride = queries.stride;
  if (causal) part.high = std::min(part.high, floorDiv(ahead, stride));
  if (window > 0) part.low = std::max(part.low, -floorDiv(window - 1 - ahead, stride));
  return part;
}

double AttentionMask::pairs(const ShardRun& queries, const ShardRun& keys, const Band& part) const {
  if (part.empty()) return 0;
  const Band band = near(queries, keys, part);
  if (!by_document) return band.pairs();
  double sum = 0;
  const std::int64_t first =
      // first token of both runs
      std::max(queries.global(part.q_begin), keys.global(part.k_begin));
  auto document = std::ranges::upper_bound(documents, first, {}, &TokenRun::end);
  const std::int64_t last = std::min(queries.global(part.q_end - 1), keys.global(part.k_end - 1));
  for (; document != documents.end() && document->begin <= last; ++document) {
    const auto rows = within(queries, *document), columns = within(keys, *document);
    sum += band.within(rows.first, rows.second, columns.first, columns.second).pairs();
  }
  return sum;
}

}  // namespace ringscope::traces
