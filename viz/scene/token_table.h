// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/query/trace.h"

namespace ringscope::viz {

/// One token of a rank's shard: what its buffers hold, beneath what they should hold.
struct TokenCell {
  std::int64_t global = 0;  ///< index in the whole sequence
  std::optional<std::int64_t> token, position, label;
  std::int64_t should_position = 0;
  std::optional<std::int64_t> should_label;  ///< the next token, where some rank recorded it
  bool begins_chunk = false;                 ///< a shard border lies before it
  bool begins_document = false;              ///< a document border lies before it

  bool positionWrong() const { return position && *position != should_position; }
  /// −100 is not a wrong label: it is left out of the loss.
  bool labelWrong() const {
    return label && should_label && *label >= 0 && *label != *should_label;
  }
};

/// How one buffer of a batch was cut for a rank.
struct BufferLane {
  std::string name;
  bool sharded = false;  ///< false: the rank made its values by itself
  std::vector<std::int64_t> full_shape, local_shape;
  std::int64_t wrong = 0, compared = 0;
};

/// The first sequence of a rank's batch, token by token.
struct TokenTable {
  int rank = 0;
  std::int64_t sequence_length = 0;
  std::vector<TokenCell> cells;
  std::vector<BufferLane> buffers;
  std::string missing;  ///< what would have to be recorded; empty when all is there
};

TokenTable tokenTable(const traces::Trace& trace, int train_step, int rank);

/// A byte-level token as people read it: "a", "␣", "↵", "·195"; other vocabularies by number.
std::string tokenText(std::int64_t token, std::int64_t vocabulary);

}  // namespace ringscope::viz
