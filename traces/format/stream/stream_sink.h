// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "traces/format/recording/chunk_sink.h"
#include "traces/format/stream/frame_writer.h"

namespace ringscope::traces {

/// What a StreamSink does with a chunk while its queue is full.
enum class WhenFull {
  kLeaveOut,  ///< the reader sees the gap in `seq` and asks for it again
  kWait       ///< the recorder waits; its own queue is bounded and counts what it drops
};

/// Sends chunks over a connection.
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
