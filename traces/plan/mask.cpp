// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/mask.h"

#include "traces/format/core/error.h"
#include "traces/format/schema/token_runs.h"

namespace ringscope::traces {

Mask Mask::of(const RunSpec& run) {
  if (run.mask == MaskKind::kFull) return full();
  const bool documents_with_window = run.mask == MaskKind::kDocuments && run.window > 0;
  if (run.mask == MaskKind::kWindow || documents_with_window) return slidingWindow(run.window);
  return causalMask();
}

Mask Mask::withoutWindow() const {
  Mask mask = *this;
  mask.window = 0;
  return mask;
}

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
    if (cu_seqlens[d] > cu_seqlens[d - 1])  // an empty document has no tokens
      mask.documents.push_back({cu_seqlens[d - 1], cu_seqlens[d]});
  }
  if (cu_seqlens.back() > length)
    throw usageError("cu_seqlens ends at " + std::to_string(cu_seqlens.back()) +
                     ", and the sequence has " + std::to_string(length) + " tokens");
  return mask;
}

int Mask::documentAt(TokenIndex token) const {
  const TokenRun* document = runWith(documents, token);
  return document ? static_cast<int>(document - documents.data()) : -1;
}

bool Mask::allows(TokenIndex query, TokenIndex key) const {
  if (causal && key > query) return false;
  if (window > 0 && query.value() - key.value() >= window) return false;
  if (documents.empty()) return true;
  const int document = documentAt(query);
  return document >= 0 && document == documentAt(key);
}

MaskKind Mask::kind() const {
  if (!documents.empty()) return MaskKind::kDocuments;
  if (window > 0) return MaskKind::kWindow;
  return causal ? MaskKind::kCausal : MaskKind::kFull;
}

}  // namespace ringscope::traces
