// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "traces/query/trace.h"

namespace ringscope::viz {

/// Where the documents of a packed sequence begin, by global index.
class DocumentStarts {
 public:
  /// Of the first sequence of a training step's batch. A run says whether its positions count from
  /// 0 in each document; where they do, the sharded position ids show where.
  DocumentStarts(const traces::Trace& trace, int train_step);

  /// The position id that a token should have: its index in its document.
  std::int64_t positionOf(std::int64_t global) const;
  /// True for the first token of a document after the first.
  bool beginsAt(std::int64_t global) const;

 private:
  std::vector<std::int64_t> starts_{0};
};

}  // namespace ringscope::viz
