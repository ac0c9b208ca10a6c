// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/schema/chunk.h"

namespace ringscope::traces {

/// A destination of finished chunks. All calls come from the recorder's writer thread, one at a
/// time. A sink that cannot continue throws Error; the recorder then stops using it, keeps the
/// message, and the run goes on.
class ChunkSink {
 public:
  virtual ~ChunkSink() = default;
  virtual void write(const Chunk& chunk) = 0;
  /// Makes everything written so far durable (a file) or queues it for sending (a stream).
  virtual void flush() = 0;
  /// Ends the sink after the last chunk. Nothing is written afterwards.
  virtual void close() = 0;
};

}  // namespace ringscope::traces
