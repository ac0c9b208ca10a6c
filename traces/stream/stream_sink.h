// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "traces/recording/chunk_sink.h"
#include "traces/stream/frame_writer.h"

namespace ringscope::traces {

/// Sends chunks over the control connection. A chunk that finds no room is left out; the reader
/// sees the gap in `seq` and asks for it again.
class StreamSink : public ChunkSink {
 public:
  explicit StreamSink(std::shared_ptr<FrameWriter> writer) : writer_(std::move(writer)) {}
  void write(const Chunk& chunk) override;
  void flush() override {}
  void close() override {}

 private:
  std::shared_ptr<FrameWriter> writer_;
};

}  // namespace ringscope::traces
