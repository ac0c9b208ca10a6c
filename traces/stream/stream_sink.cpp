// SPDX-License-Identifier: Apache-2.0
#include "traces/stream/stream_sink.h"

#include "traces/stream/frame.h"

namespace ringscope::traces {

void StreamSink::write(const Chunk& chunk) {
  writer_->offer(encodeChunkFrame(chunk));
}

}  // namespace ringscope::traces
