// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/chunk.h"

namespace ringscope::traces {

/// The description of a chunk that is not read yet.
struct ChunkInfo : ChunkHeader {
  /// The claimed content of a chunk of events; nullopt: the chunk must be read to know its content.
  std::optional<EventSummary> summary;
};

/// A source of the chunks of a recording: a file, a stream, an importer, a test. The read model
/// uses no other interface. Any thread may call read() and values(), also at the same time.
class ChunkSource {
 public:
  /// Receives the description of one chunk. `read` reads that chunk at once and is valid only
  /// during the call; it throws as ChunkSource::read does.
  using Take = std::function<void(const ChunkInfo& info, const std::function<Chunk()>& read)>;
  using Problem = std::function<void(std::string sentence)>;

  virtual ~ChunkSource() = default;
  /// Describes all chunks in the order of writing, as they are at one moment. A chunk that cannot
  /// be read, or for which `take` throws Error, is reported through `problem` and left out. Other
  /// threads wait until this returns, and `take` must not call the source.
  virtual void list(const Take& take, const Problem& problem) = 0;
  /// Returns the chunk of this number. Throws inputError when it is damaged or missing.
  virtual Chunk read(std::uint64_t seq) = 0;
  /// Returns the recorded bytes of a tensor; nullopt when the source has none. Throws inputError
  /// when they are damaged.
  virtual std::optional<Bytes> values(TensorId tensor) = 0;

  /// Reads every chunk except values, in the order of writing. A damaged chunk is reported through
  /// `damaged` and left out. Returns the numbers of rows of the chunks that could be read, values
  /// included, in the form of EndRecord::rows_by_kind.
  std::vector<std::uint64_t> readAll(const std::function<void(Chunk)>& take,
                                     const Problem& damaged);
};

/// Summaries by the number of the chunk that each one describes.
using EventSummaries = std::map<std::uint64_t, EventSummary>;
/// Adds the summaries of a chunk. Throws inputError when the chunk is malformed.
void addSummary(EventSummaries& summaries, const Chunk& chunk);
/// Attaches the summary of a chunk of events, unless its checksum is that of other content.
void attachSummary(ChunkInfo& info, EventSummaries& summaries);
/// Returns the chunk that holds the summary of a chunk of events. seq and checksum are not set.
Chunk summaryChunk(const ChunkHeader& events, EventSummary summary);

}  // namespace ringscope::traces
