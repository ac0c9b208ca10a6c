// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "traces/format/recording/chunk_sink.h"
#include "traces/format/trace/trace.h"

namespace ringscope::test {

/// A sink that adds a recording to a trace at once, without a file.
class TraceSink : public traces::ChunkSink {
 public:
  explicit TraceSink(std::shared_ptr<traces::Trace> trace) : trace_(std::move(trace)) {}
  void write(const traces::Chunk& chunk) override { trace_->add(chunk); }
  void flush() override {}
  void close() override {}

 private:
  std::shared_ptr<traces::Trace> trace_;
};

}  // namespace ringscope::test
