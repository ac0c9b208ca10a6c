// SPDX-License-Identifier: Apache-2.0
#include "traces/verify/mask.h"

#include <algorithm>
#include <limits>

#include "traces/schema/token_runs.h"

namespace ringscope::traces {

AttentionMask AttentionMask::of(const IntentRecord& intent) {
  const bool by_document = intent.mask == MaskKind::kDocuments || !intent.documents.empty();
  return {intent.mask != MaskKind::kFull, intent.window, by_document, intent.documents};
}

TokenRun AttentionMask::keysOf(TokenIndex query) const {
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

}  // namespace ringscope::traces
