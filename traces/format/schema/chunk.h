// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "traces/format/core/bytes.h"
#include "traces/format/schema/event.h"
#include "traces/format/schema/event_summary.h"
#include "traces/format/schema/groups.h"
#include "traces/format/schema/intent.h"
#include "traces/format/schema/records.h"
#include "traces/format/schema/run_spec.h"
#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// The version of the format below and of the SQLite schema around it.
inline constexpr int kFormatVersion = 4;
/// The oldest version that can be read.
inline constexpr int kOldestFormat = 2;
/// The SQLite application_id of a trace: "RSCP".
inline constexpr std::int32_t kApplicationId = 0x52534350;
/// The largest size of a chunk; a reader rejects a larger one.
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
  kRun,
  kIntent,
  kGroups,
  kSchedule,
  kTimes,
  kSummaries,
  kCount
};
template <>
struct EnumNames<ChunkKind> {
  static constexpr const char* kWhat = "chunk kind";
  static constexpr std::array<const char*, 14> kNames = {
      "events", "tensors", "values", "memory", "shards",   "diffs", "notes",
      "end",    "run",     "intent", "groups", "schedule", "times", "summaries"};
};

/// Returns a count of 0 for every kind, the initial value of EndRecord::rows_by_kind.
inline std::vector<std::uint64_t> noRows() {
  return std::vector<std::uint64_t>(static_cast<std::size_t>(ChunkKind::kCount), 0);
}

/// The facts about a chunk that are known without its body.
struct ChunkHeader {
  std::uint64_t seq = 0;  ///< 1, 2, 3 … in the order of writing; a gap means that chunks were lost
  ChunkKind kind = ChunkKind::kEvents;
  WorldRank rank;         ///< the rank that the chunk is about; none: no particular rank
  std::uint64_t key = 0;  ///< values: the tensor's id; summaries: the seq of the chunk of events
  std::uint32_t rows = 0;
  std::uint64_t checksum = 0;
};

/// The unit of a recording: written to a file and sent over the control connection unchanged.
struct Chunk : ChunkHeader {
  Bytes body;
};

/// Returns the id of the tensor that a chunk of values belongs to.
inline TensorId tensorIdFrom(const ChunkHeader& values) {
  return TensorId::of(values.key);
}

/// Returns the checksum that `chunk` should carry, over its header fields and its body.
std::uint64_t computeChecksum(const Chunk& chunk);
/// Throws inputError that names the chunk when its checksum does not match.
void checkIntact(const Chunk& chunk);
/// Describes a chunk: "chunk 7 (events of rank 2)".
std::string describe(const ChunkHeader& chunk);

/// The kind of chunk that holds records of a type: `kKind`, and whether the body is stored by
/// columns.
template <typename Record>
struct ChunkOf;

#define RINGSCOPE_CHUNK_OF(Record, Kind, Columns)       \
  template <>                                           \
  struct ChunkOf<Record> {                              \
    static constexpr ChunkKind kKind = ChunkKind::Kind; \
    static constexpr bool kColumns = Columns;           \
  }
RINGSCOPE_CHUNK_OF(Event, kEvents, true);
RINGSCOPE_CHUNK_OF(TensorRecord, kTensors, false);
RINGSCOPE_CHUNK_OF(MemorySample, kMemory, true);
RINGSCOPE_CHUNK_OF(ShardRecord, kShards, false);
RINGSCOPE_CHUNK_OF(DiffRecord, kDiffs, false);
RINGSCOPE_CHUNK_OF(Note, kNotes, false);
RINGSCOPE_CHUNK_OF(EndRecord, kEnd, false);
RINGSCOPE_CHUNK_OF(RunSpec, kRun, false);
RINGSCOPE_CHUNK_OF(IntentRecord, kIntent, false);
RINGSCOPE_CHUNK_OF(GroupRecord, kGroups, false);
RINGSCOPE_CHUNK_OF(ScheduleRecord, kSchedule, false);
RINGSCOPE_CHUNK_OF(TimesRecord, kTimes, true);
RINGSCOPE_CHUNK_OF(EventSummary, kSummaries, false);
#undef RINGSCOPE_CHUNK_OF

/// Encode and decode the rows of a chunk of kind ChunkOf<Record>::kKind. Decoding checks every size
/// and value and throws inputError on malformed input. Fields that the format `version` of the
/// chunk does not have keep their defaults. Instantiated for the record types named above.
template <typename Record>
Bytes encodeRows(std::span<const Record> records);
template <typename Record>
std::vector<Record> decodeRows(const Chunk& chunk, int version = kFormatVersion);

/// Returns a chunk of a file of format `version` as this version of the format has it. Throws
/// inputError when the chunk cannot be decoded.
Chunk upgraded(Chunk chunk, int version);

/// Returns the record of a chunk that must hold exactly one. Throws inputError otherwise.
template <typename Record>
Record decodeOne(const Chunk& chunk) {
  auto records = decodeRows<Record>(chunk);
  if (records.size() != 1)
    throw inputError(std::string("a chunk of ") + name(chunk.kind) + " holds " +
                     std::to_string(records.size()) + " records where one belongs");
  return std::move(records.front());
}

/// Returns a chunk of one or several records. seq and checksum are not set.
template <typename Record>
Chunk makeChunk(std::span<const Record> records) {
  Chunk chunk;
  chunk.kind = ChunkOf<Record>::kKind;
  chunk.rows = static_cast<std::uint32_t>(records.size());
  chunk.body = encodeRows<Record>(records);
  return chunk;
}
template <typename Record>
Chunk makeChunk(const Record& record) {
  return makeChunk(std::span<const Record>(&record, 1));
}

}  // namespace ringscope::traces
