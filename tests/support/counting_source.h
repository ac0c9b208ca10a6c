// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "traces/format/storage/memory_source.h"

namespace ringscope::test {

/// Chunks in memory, with a record of which chunks of events were read.
class CountingSource : public traces::MemorySource {
 public:
  traces::Chunk read(std::uint64_t seq) override {
    traces::Chunk chunk = MemorySource::read(seq);
    if (chunk.kind == traces::ChunkKind::kEvents) read_.insert(seq);
    return chunk;
  }
  /// Returns the numbers of the chunks of events that were read since the last call.
  std::set<std::uint64_t> takeRead() { return std::exchange(read_, {}); }

 private:
  std::set<std::uint64_t> read_;
};

}  // namespace ringscope::test
