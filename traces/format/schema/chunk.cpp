// SPDX-License-Identifier: Apache-2.0
#include "traces/format/schema/chunk.h"

#include "traces/format/core/checksum.h"
#include "traces/format/schema/column_reader.h"

namespace ringscope::traces {
namespace {

template <typename Record>
std::size_t fieldCount() {
  std::size_t count = 0;
  Record record;
  Fields<Record>::visit([&](const char*, auto&) { ++count; }, record);
  return count;
}

/// Returns a lower bound of the bytes that a record takes.
template <typename Record>
std::size_t leastBytes() {
  if constexpr (ChunkOf<Record>::kColumns) return fieldCount<Record>();
  ByteWriter out;
  RowWriter writer(out);
  const Record empty{};
  writer("", empty);
  return out.take().size() / 2 + 1;  // a default can take more bytes than 0 does
}

/// Returns the number of rows. Throws, before memory is allocated, when the chunk claims more rows
/// than fit.
template <typename Record>
std::size_t checkedRows(const Chunk& chunk) {
  static const std::size_t kLeast = leastBytes<Record>();
  if (chunk.rows > chunk.body.size() / kLeast)
    throw inputError("a chunk of the trace claims more rows than it can hold");
  return chunk.rows;
}

/// Encodes records by columns: each field as the zigzag of its difference from the row before. All
/// rows of one field follow each other, after the column's length.
template <typename Record>
Bytes encodeColumns(std::span<const Record> records) {
  struct Column {
    ByteWriter bytes;
    std::uint64_t previous = 0;
  };
  std::vector<Column> columns(fieldCount<Record>());
  for (const Record& record : records) {
    std::size_t c = 0;
    Fields<Record>::visit(
        [&](const char*, const auto& v) {
          Column& column = columns[c++];
          const auto value = static_cast<std::uint64_t>(toInteger(v));
          column.bytes.zigzag(static_cast<std::int64_t>(value - column.previous));
          column.previous = value;
        },
        record);
  }
  ByteWriter out;
  for (Column& column : columns) {
    const Bytes bytes = column.bytes.take();
    out.varint(bytes.size());
    out.raw(bytes.data(), bytes.size());
  }
  return out.take();
}

template <typename Record>
std::vector<Record> decodeColumns(const Chunk& chunk) {
  std::vector<Record> records(checkedRows<Record>(chunk));
  if (readColumns(chunk.body, fieldCount<Record>(), records) != 0)
    throw inputError(std::string("a chunk of ") + name(chunk.kind) + " has bytes left over");
  return records;
}

// Checks of a record that involve more than one field.
void checkRecord(const Event& e) {
  if (e.end_ns < e.begin_ns) throw inputError("an event of the trace ends before it begins");
}
void checkRecord(const TokenRun& run) {
  if (run.begin < 0 || run.end < run.begin)
    throw inputError("the trace holds a run of tokens that ends before it begins");
}
void checkRecord(const ShardRecord& shard) {
  for (const TokenRun& run : shard.global_from_local) checkRecord(run);
}
void checkRecord(const IntentRecord& intent) {
  for (const TokenRun& document : intent.documents) checkRecord(document);
}
template <typename Record>
void checkRecord(const Record&) {}

}  // namespace

std::uint64_t computeChecksum(const Chunk& chunk) {
  ByteWriter header;
  header.fixed(chunk.seq);
  header.fixed(static_cast<std::uint8_t>(chunk.kind));
  header.fixed(static_cast<std::int16_t>(chunk.rank.value()));
  header.fixed(chunk.key);
  header.fixed(chunk.rows);
  const Bytes bytes = header.take();
  return checksum(chunk.body.data(), chunk.body.size(), checksum(bytes.data(), bytes.size()));
}

std::string describe(const ChunkHeader& chunk) {
  return "chunk " + std::to_string(chunk.seq) + " (" + name(chunk.kind) +
         (chunk.rank.exists() ? " of rank " + toString(chunk.rank) : "") + ")";
}

void checkIntact(const Chunk& chunk) {
  if (computeChecksum(chunk) != chunk.checksum)
    throw inputError(describe(chunk) + " is damaged: its checksum differs");
}

template <typename Record>
Bytes encodeRows(std::span<const Record> records) {
  if constexpr (ChunkOf<Record>::kColumns) return encodeColumns(records);
  ByteWriter out;
  RowWriter writer(out);
  for (const Record& record : records) Fields<Record>::visit(writer, record);
  return out.take();
}

template <typename Record>
std::vector<Record> decodeRows(const Chunk& chunk, int version) {
  std::vector<Record> records;
  if constexpr (ChunkOf<Record>::kColumns) {
    records = decodeColumns<Record>(chunk);
  } else {
    records.resize(checkedRows<Record>(chunk));
    ByteReader in(chunk.body);
    RowReader reader(in, version);
    for (Record& record : records) reader.readRecord(record);
    if (in.left() != 0)
      throw inputError(std::string("a chunk of ") + name(chunk.kind) + " has bytes left over");
  }
  for (const Record& record : records) checkRecord(record);
  return records;
}

#define RINGSCOPE_CODEC_OF(Record)                            \
  template Bytes encodeRows<Record>(std::span<const Record>); \
  template std::vector<Record> decodeRows<Record>(const Chunk&, int)
RINGSCOPE_CODEC_OF(Event);
RINGSCOPE_CODEC_OF(TensorRecord);
RINGSCOPE_CODEC_OF(MemorySample);
RINGSCOPE_CODEC_OF(ShardRecord);
RINGSCOPE_CODEC_OF(DiffRecord);
RINGSCOPE_CODEC_OF(Note);
RINGSCOPE_CODEC_OF(EndRecord);
RINGSCOPE_CODEC_OF(RunSpec);
RINGSCOPE_CODEC_OF(IntentRecord);
RINGSCOPE_CODEC_OF(GroupRecord);
RINGSCOPE_CODEC_OF(ScheduleRecord);
RINGSCOPE_CODEC_OF(TimesRecord);
RINGSCOPE_CODEC_OF(EventSummary);
#undef RINGSCOPE_CODEC_OF

namespace {

/// Encodes a chunk of this kind of records anew, if a later version than `version` added fields.
template <typename Record>
void upgradeRows(Chunk& chunk, int version) {
  if constexpr (requires { Fields<Record>::kAdded; }) {
    if (chunk.kind != ChunkOf<Record>::kKind) return;
    chunk.body = encodeRows<Record>(decodeRows<Record>(chunk, version));
    chunk.checksum = computeChecksum(chunk);
  }
}

template <typename... Records>
void upgradeAny(Chunk& chunk, int version) {
  (upgradeRows<Records>(chunk, version), ...);
}

}  // namespace

Chunk upgraded(Chunk chunk, int version) {
  if (version < kFormatVersion)
    upgradeAny<TensorRecord, ShardRecord, DiffRecord, Note, EndRecord, RunSpec, IntentRecord,
               GroupRecord, ScheduleRecord, EventSummary>(chunk, version);
  return chunk;
}

}  // namespace ringscope::traces
