// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "traces/format/recording/chunk_sink.h"
#include "traces/format/stream/frame_writer.h"

namespace ringscope::traces {

/// The handling of a chunk while the queue of a StreamSink is full.
enum class WhenFull {
  kLeaveOut,  ///< the reader sees the gap in `seq` and requests the chunk again
  kWait       ///< the recorder waits; its own queue is bounded, and it counts what it drops
};

/// A sink that sends chunks over a connection.
class StreamSink : public ChunkSink {
 public:
  explicit StreamSink(std::shared_ptr<FrameWriter> writer, WhenFull when_full = WhenFull::kLeaveOut)
      : writer_(std::move(writer)), when_full_(when_full) {}
  void write(const Chunk& chunk) override;
  void flush() override {}
  void close() override {}

 private:
  std::shared_ptr<FrameWriter> writer_;
  WhenFull when_full_;
};

}  // namespace ringscope::traces
