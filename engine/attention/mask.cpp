// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/mask.h"

#include <algorithm>

#include "traces/core/error.h"

namespace ringscope::engine {

Mask Mask::slidingWindow(std::int64_t window) {
  if (window < 1)
    throw usageError("a window sees at least 1 key, the query's own; " + std::to_string(window) +
                     " were asked for (--window)");
  return {true, window, {}};
}

Mask Mask::packed(const std::vector<std::int64_t>& cu_seqlens, std::int64_t length) {
  if (cu_seqlens.size() < 2 || cu_seqlens.front() != 0)
    throw usageError("cu_seqlens begins with 0 and has one more entry than there are documents");
  Mask mask{true, 0, {}};
  for (std::size_t d = 1; d < cu_seqlens.size(); ++d) {
    if (cu_seqlens[d] < cu_seqlens[d - 1])
      throw usageError("cu_seqlens must not fall; entry " + std::to_string(d) + " does");
    if (cu_seqlens[d] > cu_seqlens[d - 1])  // an empty document has no token
      mask.documents.push_back({cu_seqlens[d - 1], cu_seqlens[d]});
  }
  if (cu_seqlens.back() > length)
    throw usageError("cu_seqlens ends at " + std::to_string(cu_seqlens.back()) +
                     ", and the sequence has " + std::to_string(length) + " tokens");
  return mask;
}

int Mask::documentOf(std::int64_t token) const {
  const auto after =
      std::upper_bound(documents.begin(), documents.end(), token,
                       [](std::int64_t t, const TokenRun& document) { return t < document.begin; });
  if (after == documents.begin()) return -1;
  const auto at = after - 1;
  return token < at->end ? static_cast<int>(at - documents.begin()) : -1;
}

bool Mask::allows(std::int64_t query, std::int64_t key) const {
  if (causal && key > query) return false;
  if (window > 0 && query - key >= window) return false;
  if (documents.empty()) return true;
  const int document = documentOf(query);
  return document >= 0 && document == documentOf(key);
}

std::string Mask::name() const {
  if (!documents.empty()) return "documents";
  if (window > 0) return "window";
  return causal ? "causal" : "full";
}

}  // namespace ringscope::engine
