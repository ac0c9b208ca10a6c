// SPDX-License-Identifier: Apache-2.0
// The decoders of all chunks and what the read model admits. Input: the kind, the number of rows,
// the body.
#include "traces/format/trace/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringscope::traces;
  if (size < 3) return 0;
  Chunk chunk;
  chunk.seq = 1;
  chunk.kind = static_cast<ChunkKind>(data[0] % static_cast<int>(ChunkKind::kCount));
  chunk.rows = static_cast<std::uint32_t>(data[1] | data[2] << 8);
  chunk.body.assign(data + 3, data + size);
  chunk.checksum = computeChecksum(chunk);
  Trace trace;
  try {
    trace.add(chunk);
  } catch (const ringscope::Error&) {  // which is how a chunk is refused
  }
  trace.problems();
  return 0;
}
