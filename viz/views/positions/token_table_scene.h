// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viz/scene/cursor.h"
#include "viz/scene/data.h"

namespace ringscope::viz {

/// One token of a rank's shard: what its buffers hold, beneath what they should hold.
struct TokenCell {
  TokenIndex global = TokenIndex::of(0);
  std::optional<std::int64_t> token, position, label;
  std::optional<std::int64_t> should_token;     ///< of the whole batch, where it is recorded
  std::optional<std::int64_t> should_position;  ///< where what was meant is recorded
  std::optional<std::int64_t> should_label;     ///< the next token, where some rank recorded it
  bool begins_chunk = false;                    ///< a shard border lies before it
  bool begins_document = false;                 ///< a document border lies before it

  friend bool operator==(const TokenCell&, const TokenCell&) = default;

  bool tokenWrong() const { return token && should_token && *token != *should_token; }
  bool positionWrong() const {
    return position && should_position && *position != *should_position;
  }
  /// −100 is not a wrong label: it is left out of the loss.
  bool labelWrong() const {
    return label && should_label && *label >= 0 && *label != *should_label;
  }
};

/// The recorded facts about how a buffer was cut.
enum class BufferCut : std::uint8_t {
  kNotRecorded,  ///< the recording has neither the buffer nor a cut of it
  kUnknown,      ///< it has the rank's values, and no cut of them
  kOwn,          ///< the rank made its values by itself
  kSharded,
  kSealed,  ///< a quiz round does not say
};

/// How one buffer of a batch was cut for a rank.
struct BufferLane {
  std::string name;
  BufferCut cut = BufferCut::kNotRecorded;
  std::vector<std::int64_t> full_shape, local_shape;
  std::int64_t wrong = 0, compared = 0;
  std::string not_compared;  ///< why no value is compared: a clause; empty when some are

  /// Only a recorded fact accuses.
  bool accused() const { return cut == BufferCut::kOwn; }

  friend bool operator==(const BufferLane&, const BufferLane&) = default;
};

/// "sharded: [1, 16] of [1, 64]", "– not recorded"
std::string describeCut(const BufferLane& lane);
/// "▲ 12 of 16 differ", "✓ 16 as they should be", "– from where positions count was not declared";
/// empty where the buffer is not recorded.
std::string describeValues(const BufferLane& lane);

/// The first sequence of a rank's batch, token by token.
struct TokenTable {
  WorldRank rank = WorldRank::of(0);
  int train_step = 0;
  std::int64_t vocabulary = 256;  ///< of the model
  std::int64_t sequence_length = 0;
  std::vector<TokenCell> cells;
  std::vector<BufferLane> buffers;  ///< those with values below first, then others that were cut
  std::string missing;              ///< where it is not recorded: what would show it, a clause

  friend bool operator==(const TokenTable&, const TokenTable&) = default;
};

/// Makes the table of the cursor's training step and selected rank.
TokenTable makeTokenTable(const traces::Trace& trace, const Cursor& cursor);

/// A byte-level token as people read it: "a", "␣", "↵", "·195"; other vocabularies by number.
std::string tokenText(std::int64_t token, std::int64_t vocabulary);

}  // namespace ringscope::viz
