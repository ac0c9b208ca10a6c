// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/format/schema/pieces.h"
#include "traces/format/schema/run_spec.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {

/// A rule that a run or a call asks for.
struct Mask : PieceRule {
  /// What a run asks for; with mask documents, the part that holds within each of them.
  static Mask of(const RunSpec& run);
  static Mask full() { return {}; }
  static Mask causalMask() { return {true, 0, {}}; }
  /// Throws usageError when the window is not positive.
  static Mask slidingWindow(std::int64_t window);
  /// From cumulative lengths [0, …, S], as cu_seqlens has them; causal within each document.
  /// Throws usageError when they do not rise from 0 to at most `length`.
  static Mask packed(const std::vector<std::int64_t>& cu_seqlens, std::int64_t length);

  /// Plain and full: every query attends every key.
  bool isFull() const { return !causal && window == 0 && documents.empty(); }
  bool allows(TokenIndex query, TokenIndex key) const;
  /// The document of a token, or -1 for padding.
  int documentOf(TokenIndex token) const;
  MaskKind kind() const;

  friend bool operator==(const Mask&, const Mask&) = default;
};

}  // namespace ringscope::traces
