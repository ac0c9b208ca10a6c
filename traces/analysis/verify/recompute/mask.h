// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/band.h"
#include "traces/format/schema/intent.h"
#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// Which keys a query may attend, by global token indices, as it was declared.
struct AttentionMask {
  bool causal = false;      ///< keys of its own and earlier indices only
  std::int64_t window = 0;  ///< of those the last `window`, its own included; 0: all
  bool by_document = false;
  /// Ascending. With by_document a query attends keys of its own document only; tokens between
  /// documents are padding, which attends nothing and is attended by nothing.
  std::vector<TokenRun> documents;

  /// Every mask but the full one is causal.
  static AttentionMask of(const IntentRecord& intent);

  /// The keys of a query are one run of tokens under every mask; empty: it has none.
  TokenRun keysOf(TokenIndex query) const;
  /// Those of a band of two runs of one stride, by the runs' own indices, that order and window
  /// leave, whatever the documents are.
  Band near(const ShardRun& queries, const ShardRun& keys, Band part) const;
  /// (query, key) pairs of the band that the mask has.
  double pairs(const ShardRun& queries, const ShardRun& keys, const Band& part) const;
};

}  // namespace ringscope::traces
