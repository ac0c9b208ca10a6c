// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/core/bytes.h"
#include "traces/schema/event.h"
#include "traces/schema/records.h"

namespace ringscope::traces {

/// Version of everything below and of the SQLite schema around it. Version 0 may change freely.
inline constexpr int kFormatVersion = 0;
/// SQLite's application_id of a trace: "RSCP".
inline constexpr std::int32_t kApplicationId = 0x52534350;
/// No chunk is larger; a reader refuses one that claims to be.
inline constexpr std::size_t kMaxChunkBytes = std::size_t{1} << 30;

/// Values are serialized: append, never renumber.
enum class ChunkKind : std::uint8_t {
  kEvents = 0,
  kTensors,
  kValues,
  kMemory,
  kShards,
  kDiffs,
  kNotes,
  kEnd,
  kCount
};
const char* name(ChunkKind kind);

/// The unit of a recording: written to a file and sent over the control connection unchanged.
struct Chunk {
  std::uint64_t seq = 0;  ///< 1, 2, 3 … in the order of writing; a gap means something was lost
  ChunkKind kind = ChunkKind::kEvents;
  std::int16_t rank = -1;  ///< the rank that it is about, -1 for none in particular
  std::uint64_t key = 0;   ///< values: the tensor's id
  std::uint32_t rows = 0;
  std::uint64_t checksum = 0;
  Bytes body;
};

/// The checksum that `chunk` should carry: over its header fields and its body.
std::uint64_t computeChecksum(const Chunk& chunk);

/// Body codecs. Decoders check every size and throw inputError on anything malformed.
Bytes encodeEvents(std::span<const Event> events);
std::vector<Event> decodeEvents(const Chunk& chunk);
Bytes encodeTensors(std::span<const TensorRecord> tensors);
std::vector<TensorRecord> decodeTensors(const Chunk& chunk);
Bytes encodeMemory(std::span<const MemorySample> samples);
std::vector<MemorySample> decodeMemory(const Chunk& chunk);
Bytes encodeShard(const ShardRecord& shard);
ShardRecord decodeShard(const Chunk& chunk);
Bytes encodeDiffs(std::span<const DiffRecord> diffs);
std::vector<DiffRecord> decodeDiffs(const Chunk& chunk);
Bytes encodeNote(const Note& note);
Note decodeNote(const Chunk& chunk);

/// What the last chunk of a complete recording says.
struct EndRecord {
  std::uint64_t events = 0;
  std::uint64_t dropped_events = 0;
  std::uint64_t dropped_tensors = 0;
  std::int64_t run_clock_ns = 0;
};
Bytes encodeEnd(const EndRecord& end);
EndRecord decodeEnd(const Chunk& chunk);

}  // namespace ringscope::traces
