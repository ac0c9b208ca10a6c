// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/band.h"
#include "traces/format/schema/intent.h"
#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// The keys that a query may attend, by global token indices, as declared.
struct AttentionMask {
  bool causal = false;      ///< only keys of its own and earlier indices
  std::int64_t window = 0;  ///< only the last `window` of these keys, its own included; 0: all
  bool by_document = false;
  /// Ascending. With by_document a query attends only keys of its own document. Tokens between
  /// documents are padding, which attends nothing and is not attended.
  std::vector<TokenRun> documents;

  /// Returns the mask of an intent. Every mask but the full one is causal.
  static AttentionMask of(const IntentRecord& intent);

  /// Returns the keys of a query, which are one run of tokens under every mask; empty when there
  /// are none.
  TokenRun keysFor(TokenIndex query) const;
  /// Returns the part of a band that the causal order and the window leave, ignoring documents. The
  /// band uses the indices of two runs with one stride.
  Band near(const ShardRun& queries, const ShardRun& keys, Band part) const;
  /// Returns the number of (query, key) pairs of the band that the mask allows.
  double pairs(const ShardRun& queries, const ShardRun& keys, const Band& part) const;
};

}  // namespace ringscope::traces
