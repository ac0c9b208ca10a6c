// SPDX-License-Identifier: Apache-2.0
#include "traces/schema/chunk.h"

#include <array>

#include "traces/core/checksum.h"

namespace ringscope::traces {
namespace {

/// Refuses more rows than fit at `least` bytes each, before anything is allocated for them.
std::size_t checkedRows(const Chunk& chunk, std::size_t least) {
  if (chunk.rows > chunk.body.size() / least)
    throw inputError("a chunk of the trace claims more rows than it can hold");
  return chunk.rows;
}

template <typename E>
E checkedEnum(std::int64_t value, const char* what) {
  if (value < 0 || value >= static_cast<std::int64_t>(E::kCount))
    throw inputError(std::string("the trace holds an unknown ") + what + " (" +
                     std::to_string(value) + ")");
  return static_cast<E>(value);
}

/// One column: each value as the zigzag varint of its difference from the row before.
template <typename Row, typename Get>
void encodeColumn(ByteWriter& out, std::span<const Row> rows, Get get) {
  std::uint64_t previous = 0;
  for (const Row& row : rows) {
    const auto value = static_cast<std::uint64_t>(get(row));
    out.zigzag(static_cast<std::int64_t>(value - previous));
    previous = value;
  }
}

template <typename Row, typename Set>
void decodeColumn(ByteReader& in, std::vector<Row>& rows, Set set) {
  std::uint64_t previous = 0;
  for (Row& row : rows) {
    previous += static_cast<std::uint64_t>(in.zigzag());
    set(row, static_cast<std::int64_t>(previous));
  }
}

void encodePlace(ByteWriter& out, const Place& place) {
  out.zigzag(place.train_step);
  out.zigzag(place.layer);
  out.zigzag(static_cast<int>(place.direction));
  out.zigzag(place.stage);
}

Direction checkedDirection(std::int64_t value) {
  if (value != 0 && value != 1) throw inputError("the trace holds an unknown direction");
  return static_cast<Direction>(value);
}

Place decodePlace(ByteReader& in) {
  Place place;
  place.train_step = static_cast<std::int32_t>(in.zigzag());
  place.layer = static_cast<std::int16_t>(in.zigzag());
  place.direction = checkedDirection(in.zigzag());
  place.stage = static_cast<std::int16_t>(in.zigzag());
  return place;
}

void encodeInts(ByteWriter& out, const std::vector<std::int64_t>& values) {
  out.varint(values.size());
  for (auto v : values) out.zigzag(v);
}

std::vector<std::int64_t> decodeInts(ByteReader& in) {
  const std::uint64_t count = in.varint();
  if (count > in.left()) throw inputError("a list in the trace is longer than its chunk");
  std::vector<std::int64_t> values(count);
  for (auto& v : values) v = in.zigzag();
  return values;
}

}  // namespace

const char* name(ChunkKind kind) {
  static constexpr std::array<const char*, static_cast<std::size_t>(ChunkKind::kCount)> kNames = {
      "events", "tensors", "values", "memory", "shards", "diffs", "notes", "end"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::uint64_t computeChecksum(const Chunk& chunk) {
  ByteWriter header;
  header.fixed(chunk.seq);
  header.fixed(static_cast<std::uint8_t>(chunk.kind));
  header.fixed(chunk.rank);
  header.fixed(chunk.key);
  header.fixed(chunk.rows);
  const Bytes bytes = header.take();
  return checksum(chunk.body.data(), chunk.body.size(), checksum(bytes.data(), bytes.size()));
}

Bytes encodeEvents(std::span<const Event> events) {
  ByteWriter out;
  auto column = [&](auto get) { encodeColumn(out, events, get); };
  column([](const Event& e) { return static_cast<int>(e.kind); });
  column([](const Event& e) { return e.begin_ns; });
  column([](const Event& e) { return e.end_ns - e.begin_ns; });
  column([](const Event& e) { return e.cpu_ns; });
  column([](const Event& e) { return e.bytes; });
  column([](const Event& e) { return e.flow; });
  column([](const Event& e) { return e.place.train_step; });
  column([](const Event& e) { return e.place.layer; });
  column([](const Event& e) { return static_cast<int>(e.place.direction); });
  column([](const Event& e) { return e.place.stage; });
  column([](const Event& e) { return e.q_begin; });
  column([](const Event& e) { return e.q_end; });
  column([](const Event& e) { return e.k_begin; });
  column([](const Event& e) { return e.k_end; });
  column([](const Event& e) { return e.rank; });
  column([](const Event& e) { return e.peer; });
  column([](const Event& e) { return e.source_rank; });
  column([](const Event& e) { return static_cast<int>(e.payload); });
  column([](const Event& e) { return static_cast<int>(e.mask); });
  return out.take();
}

std::vector<Event> decodeEvents(const Chunk& chunk) {
  ByteReader in(chunk.body);
  constexpr std::size_t kColumns = 19;
  std::vector<Event> events(checkedRows(chunk, kColumns));
  auto column = [&](auto set) { decodeColumn(in, events, set); };
  using I = std::int64_t;
  column([](Event& e, I v) { e.kind = checkedEnum<EventKind>(v, "event kind"); });
  column([](Event& e, I v) { e.begin_ns = v; });
  column([](Event& e, I v) {
    e.end_ns =
        static_cast<I>(static_cast<std::uint64_t>(e.begin_ns) + static_cast<std::uint64_t>(v));
    if (v < 0 || e.end_ns < e.begin_ns)
      throw inputError("an event of the trace ends before it begins");
  });
  column([](Event& e, I v) { e.cpu_ns = v; });
  column([](Event& e, I v) { e.bytes = v; });
  column([](Event& e, I v) { e.flow = static_cast<std::uint64_t>(v); });
  column([](Event& e, I v) { e.place.train_step = static_cast<std::int32_t>(v); });
  column([](Event& e, I v) { e.place.layer = static_cast<std::int16_t>(v); });
  column([](Event& e, I v) { e.place.direction = checkedDirection(v); });
  column([](Event& e, I v) { e.place.stage = static_cast<std::int16_t>(v); });
  column([](Event& e, I v) { e.q_begin = static_cast<std::int32_t>(v); });
  column([](Event& e, I v) { e.q_end = static_cast<std::int32_t>(v); });
  column([](Event& e, I v) { e.k_begin = static_cast<std::int32_t>(v); });
  column([](Event& e, I v) { e.k_end = static_cast<std::int32_t>(v); });
  column([](Event& e, I v) { e.rank = static_cast<std::int16_t>(v); });
  column([](Event& e, I v) { e.peer = static_cast<std::int16_t>(v); });
  column([](Event& e, I v) { e.source_rank = static_cast<std::int16_t>(v); });
  column([](Event& e, I v) { e.payload = checkedEnum<Payload>(v, "payload"); });
  column([](Event& e, I v) { e.mask = checkedEnum<PieceMask>(v, "piece mask"); });
  if (in.left() != 0) throw inputError("a chunk of events has bytes left over");
  return events;
}

Bytes encodeTensors(std::span<const TensorRecord> tensors) {
  ByteWriter out;
  for (const auto& t : tensors) {
    out.varint(t.id);
    out.text(t.name);
    encodePlace(out, t.place);
    out.zigzag(t.rank);
    out.fixed(static_cast<std::uint8_t>(t.dtype));
    encodeInts(out, t.shape);
    out.fixed(t.hash);
    out.fixed(t.stats);
    out.fixed(static_cast<std::uint8_t>(t.has_values));
  }
  return out.take();
}

std::vector<TensorRecord> decodeTensors(const Chunk& chunk) {
  ByteReader in(chunk.body);
  std::vector<TensorRecord> tensors(checkedRows(chunk, sizeof(TensorStats)));
  for (auto& t : tensors) {
    t.id = in.varint();
    t.name = in.text();
    t.place = decodePlace(in);
    t.rank = static_cast<std::int16_t>(in.zigzag());
    t.dtype = checkedEnum<DType>(in.fixed<std::uint8_t>(), "element type");
    t.shape = decodeInts(in);
    t.hash = in.fixed<std::uint64_t>();
    t.stats = in.fixed<TensorStats>();
    t.has_values = in.fixed<std::uint8_t>() != 0;
  }
  return tensors;
}

Bytes encodeMemory(std::span<const MemorySample> samples) {
  ByteWriter out;
  auto column = [&](auto get) { encodeColumn(out, samples, get); };
  column([](const MemorySample& s) { return s.time_ns; });
  column([](const MemorySample& s) { return s.bytes; });
  column([](const MemorySample& s) { return s.rank; });
  column([](const MemorySample& s) { return static_cast<int>(s.category); });
  return out.take();
}

std::vector<MemorySample> decodeMemory(const Chunk& chunk) {
  ByteReader in(chunk.body);
  std::vector<MemorySample> samples(checkedRows(chunk, 4));
  auto column = [&](auto set) { decodeColumn(in, samples, set); };
  column([](MemorySample& s, std::int64_t v) { s.time_ns = v; });
  column([](MemorySample& s, std::int64_t v) { s.bytes = v; });
  column([](MemorySample& s, std::int64_t v) { s.rank = static_cast<std::int16_t>(v); });
  column([](MemorySample& s, std::int64_t v) {
    s.category = checkedEnum<MemoryCategory>(v, "memory category");
  });
  return samples;
}

Bytes encodeShard(const ShardRecord& shard) {
  ByteWriter out;
  out.text(shard.buffer);
  out.zigzag(shard.train_step);
  out.zigzag(shard.rank);
  out.fixed(static_cast<std::uint8_t>(shard.sharded));
  out.zigzag(shard.seq_dim);
  encodeInts(out, shard.full_shape);
  encodeInts(out, shard.local_shape);
  out.varint(shard.global_from_local.size());
  for (const auto& run : shard.global_from_local) {
    out.zigzag(run.begin);
    out.zigzag(run.end);
  }
  return out.take();
}

ShardRecord decodeShard(const Chunk& chunk) {
  ByteReader in(chunk.body);
  ShardRecord shard;
  shard.buffer = in.text();
  shard.train_step = static_cast<std::int32_t>(in.zigzag());
  shard.rank = static_cast<std::int16_t>(in.zigzag());
  shard.sharded = in.fixed<std::uint8_t>() != 0;
  shard.seq_dim = static_cast<std::int32_t>(in.zigzag());
  shard.full_shape = decodeInts(in);
  shard.local_shape = decodeInts(in);
  const std::uint64_t runs = in.varint();
  if (runs > in.left()) throw inputError("a shard in the trace has more runs than bytes");
  shard.global_from_local.resize(runs);
  for (auto& run : shard.global_from_local) {
    run.begin = in.zigzag();
    run.end = in.zigzag();
    if (run.begin < 0 || run.end < run.begin)
      throw inputError("a shard in the trace has a negative run");
  }
  return shard;
}

Bytes encodeDiffs(std::span<const DiffRecord> diffs) {
  ByteWriter out;
  for (const auto& d : diffs) {
    out.fixed(static_cast<std::uint8_t>(d.isolated));
    encodePlace(out, d.place);
    out.text(d.tensor);
    for (double v : {d.error, d.noise, d.scale, d.multiple}) out.fixed(v);
    out.varint(d.multiple_by_rank.size());
    for (double v : d.multiple_by_rank) out.fixed(v);
    encodeInts(out, d.worst_index);
  }
  return out.take();
}

std::vector<DiffRecord> decodeDiffs(const Chunk& chunk) {
  ByteReader in(chunk.body);
  std::vector<DiffRecord> diffs(checkedRows(chunk, 4 * sizeof(double)));
  for (auto& d : diffs) {
    d.isolated = in.fixed<std::uint8_t>() != 0;
    d.place = decodePlace(in);
    d.tensor = in.text();
    for (double* v : {&d.error, &d.noise, &d.scale, &d.multiple}) *v = in.fixed<double>();
    const std::uint64_t ranks = in.varint();
    if (ranks > in.left() / sizeof(double))
      throw inputError("a diff in the trace lists too many ranks");
    d.multiple_by_rank.resize(ranks);
    for (double& v : d.multiple_by_rank) v = in.fixed<double>();
    d.worst_index = decodeInts(in);
  }
  return diffs;
}

Bytes encodeNote(const Note& note) {
  ByteWriter out;
  out.text(note.key);
  out.text(note.json);
  return out.take();
}

Note decodeNote(const Chunk& chunk) {
  ByteReader in(chunk.body);
  Note note;
  note.key = in.text();
  note.json = in.text();
  return note;
}

Bytes encodeEnd(const EndRecord& end) {
  ByteWriter out;
  out.varint(end.events);
  out.varint(end.dropped_events);
  out.varint(end.dropped_tensors);
  out.zigzag(end.run_clock_ns);
  return out.take();
}

EndRecord decodeEnd(const Chunk& chunk) {
  ByteReader in(chunk.body);
  EndRecord end;
  end.events = in.varint();
  end.dropped_events = in.varint();
  end.dropped_tensors = in.varint();
  end.run_clock_ns = in.zigzag();
  return end;
}

}  // namespace ringscope::traces
