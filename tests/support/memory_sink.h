// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "traces/format/recording/chunk_sink.h"
#include "traces/format/storage/memory_source.h"

namespace ringscope::test {

/// A sink that keeps a recording in memory, as a source to read once the recorder is closed.
class MemorySink : public traces::ChunkSink {
 public:
  explicit MemorySink(std::shared_ptr<traces::MemorySource> source) : source_(std::move(source)) {}
  void write(const traces::Chunk& chunk) override { source_->add(chunk); }
  void flush() override {}
  void close() override {}

 private:
  std::shared_ptr<traces::MemorySource> source_;
};

}  // namespace ringscope::test
