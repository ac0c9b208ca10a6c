// SPDX-License-Identifier: Apache-2.0
#include "traces/format/stream/stream_sink.h"

#include "traces/format/stream/frame.h"

namespace ringscope::traces {

void StreamSink::write(const Chunk& chunk) {
  if (when_full_ == WhenFull::kLeaveOut)
    writer_->offer(encodeChunkFrame(chunk));
  else
    writer_->waitAndSend(encodeChunkFrame(chunk));
}

}  // namespace ringscope::traces
