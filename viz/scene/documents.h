// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traces/query/trace.h"

namespace ringscope::viz {

/// The documents that attention ends at, by global indices: the whole sequence where the mask knows
/// none; nothing where they are not recorded.
std::optional<std::vector<traces::TokenRun>> attendedDocuments(const traces::Trace& trace,
                                                               int train_step);

/// Where the documents of a packed sequence begin, by global index.
class DocumentStarts {
 public:
  /// Of the first sequence of a training step's batch. A run says whether its positions count from
  /// 0 in each document; where they do, the sharded position ids show where.
  DocumentStarts(const traces::Trace& trace, int train_step);

  /// False where the position ids count in each document and are not recorded.
  bool known() const { return known_; }
  const std::vector<std::int64_t>& all() const { return starts_; }

  /// The position id that a token should have: its index in its document.
  std::int64_t positionOf(std::int64_t global) const;
  /// True for the first token of a document after the first.
  bool beginsAt(std::int64_t global) const;

 private:
  std::vector<std::int64_t> starts_{0};
  bool known_ = true;
};

}  // namespace ringscope::viz
