// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/chunk.h"

namespace ringscope::traces {

/// A chunk that is not read yet.
struct ChunkInfo : ChunkHeader {
  /// Of a chunk of events, what it is said to hold; nothing: it must be read to be known.
  std::optional<EventSummary> summary;
};

/// Where the chunks of a recording come from: a file, a stream, an importer, a test. The read model
/// knows nothing else of them. Not thread-safe.
class ChunkSource {
 public:
  /// Gets one chunk's description. `read` reads that chunk at once, and is valid during the call
  /// only; it throws as ChunkSource::read does.
  using Take = std::function<void(const ChunkInfo& info, const std::function<Chunk()>& read)>;
  using Problem = std::function<void(std::string sentence)>;

  virtual ~ChunkSource() = default;
  /// Describes all chunks in the order of writing, as they are at one moment. What cannot be read,
  /// or makes `take` throw Error, is named through `problem` and left out.
  virtual void list(const Take& take, const Problem& problem) = 0;
  /// The chunk of this number. Throws inputError when it is damaged or not there.
  virtual Chunk read(std::uint64_t seq) = 0;
  /// The recorded bytes of a tensor; nothing when the source has none. Throws inputError when they
  /// are damaged.
  virtual std::optional<Bytes> values(TensorId tensor) = 0;

  /// Reads every chunk but values, in the order of writing. A damaged one is named through
  /// `damaged` and left out. Returns the rows of the chunks that could be read, values included, as
  /// EndRecord::rows_by_kind has them.
  std::vector<std::uint64_t> readAll(const std::function<void(Chunk)>& take,
                                     const Problem& damaged);
};

/// Summaries by the number of the chunk that each is about.
using EventSummaries = std::map<std::uint64_t, EventSummary>;
/// Takes in a chunk of summaries. Throws inputError when it is malformed.
void addSummary(EventSummaries& summaries, const Chunk& chunk);
/// Gives a chunk of events its summary, unless that is about a chunk with another content.
void attachSummary(ChunkInfo& info, EventSummaries& summaries);
/// The chunk that holds the summary of a chunk of events, without seq and checksum.
Chunk summaryChunk(const ChunkHeader& events, EventSummary summary);

}  // namespace ringscope::traces
