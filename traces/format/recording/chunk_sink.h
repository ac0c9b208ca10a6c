// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/schema/chunk.h"

namespace ringscope::traces {

/// Where the recorder puts finished chunks. All calls come from the recorder's writer thread, one
/// at a time. A sink that cannot go on throws Error; the recorder then does without it, remembers
/// the sentence, and the run goes on.
class ChunkSink {
 public:
  virtual ~ChunkSink() = default;
  virtual void write(const Chunk& chunk) = 0;
  /// Makes all that was written durable (a file) or leaves it to be sent (a stream).
  virtual void flush() = 0;
  /// After the last chunk. Nothing is written after it.
  virtual void close() = 0;
};

}  // namespace ringscope::traces
