// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>

#include "traces/format/core/mutex.h"
#include "traces/format/storage/chunk_source.h"

namespace ringscope::traces {

/// Chunks in memory that come from no trace file: from an importer or a test. Chunks of events stay
/// encoded until they are read. Any thread may read them while no thread adds.
class MemorySource : public ChunkSource {
 public:
  /// Adds a chunk as it is, with its number and checksum.
  void add(Chunk chunk);
  /// Adds records as one chunk with the next number. Events get a summary.
  template <typename Record>
  void add(std::span<const Record> records) {
    Chunk chunk = makeChunk(records);
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
  /// Adds values that `read` returns each time they are requested. `read` may throw inputError.
  void addValues(TensorId tensor, std::function<Bytes()> read);

  void list(const Take& take, const Problem& problem) override;
  Chunk read(std::uint64_t seq) override;
  std::optional<Bytes> values(TensorId tensor) override;

 private:
  void number(Chunk& chunk) const;
  Chunk readLater(Chunk chunk, const std::function<Bytes()>& body) RINGSCOPE_EXCLUDES(mutex_);

  std::map<std::uint64_t, Chunk> chunks_;                  // by chunk number
  std::map<std::uint64_t, std::uint64_t> values_at_;       // chunk number of the values, by tensor
                                                           // id
  std::map<std::uint64_t, std::function<Bytes()>> later_;  // readers of the bodies that are not
                                                           // loaded, by chunk number
  Mutex mutex_;  // held while one of them reads, because several may read one file
};

}  // namespace ringscope::traces
