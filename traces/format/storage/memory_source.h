// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>

#include "traces/format/storage/chunk_source.h"

namespace ringscope::traces {

/// Chunks in memory, for what is no file of ours: an importer that makes them, a test. Chunks of
/// events stay encoded until they are asked for.
class MemorySource : public ChunkSource {
 public:
  /// Takes a chunk as it is, with its number and checksum.
  void add(Chunk chunk);
  /// Takes records in as one chunk with the next number; events with their summary.
  template <typename Record>
  void add(std::span<const Record> records) {
    Chunk chunk = chunkOf(records);
    number(chunk);
    std::optional<Chunk> summary;
    if constexpr (std::is_same_v<Record, Event>)
      summary = summaryChunk(chunk, summarizeEvents(records));
    add(std::move(chunk));
    if (!summary) return;
    number(*summary);
    add(std::move(*summary));
  }
  template <typename Record>
  void add(const Record& record) {
    add(std::span<const Record>(&record, 1));
  }
  void addValues(TensorId tensor, Bytes values);
  /// The same of values that `read` gets each time they are asked for; it may throw inputError.
  void addValues(TensorId tensor, std::function<Bytes()> read);

  void list(const Take& take, const Problem& problem) override;
  Chunk read(std::uint64_t seq) override;
  std::optional<Bytes> values(TensorId tensor) override;

 private:
  void number(Chunk& chunk) const;

  std::map<std::uint64_t, Chunk> chunks_;                  // by number
  std::map<std::uint64_t, std::uint64_t> values_at_;       // by key: the chunk of values
  std::map<std::uint64_t, std::function<Bytes()>> later_;  // by number: what has no body yet
};

}  // namespace ringscope::traces
