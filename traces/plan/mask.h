// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/format/schema/pieces.h"
#include "traces/format/schema/run_spec.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {

/// The mask that a run or a call requests.
struct Mask : PieceRule {
  /// Returns the mask of a run. For mask documents it is the rule that holds within each document.
  static Mask of(const RunSpec& run);
  static Mask full() { return {}; }
  static Mask causalMask() { return {true, 0, {}}; }
  /// Returns a sliding window. Throws usageError when `window` is not positive.
  static Mask slidingWindow(std::int64_t window);
  /// Returns the mask of packed documents, causal within each document, from cumulative lengths [0,
  /// …, S] (cu_seqlens). Throws usageError when the lengths do not rise from 0 to at most `length`.
  static Mask packed(const std::vector<std::int64_t>& cu_seqlens, std::int64_t length);

  /// Returns the same mask without its sliding window.
  Mask withoutWindow() const;
  /// Reports whether every query attends every key.
  bool isFull() const { return !causal && window == 0 && documents.empty(); }
  bool allows(TokenIndex query, TokenIndex key) const;
  /// Returns the document of a token, or -1 for padding.
  int documentAt(TokenIndex token) const;
  MaskKind kind() const;

  friend bool operator==(const Mask&, const Mask&) = default;
};

}  // namespace ringscope::traces
