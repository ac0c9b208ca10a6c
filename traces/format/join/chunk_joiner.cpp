// SPDX-License-Identifier: Apache-2.0
#include "traces/format/join/chunk_joiner.h"

#include <algorithm>

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

/// Adds two times. Checks for overflow, because an untrusted file can hold any number.
std::int64_t shifted(std::int64_t time_ns, std::int64_t by) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(time_ns, by, &sum))
    throw inputError("a recorded time is beyond what a clock can show");
  return sum;
}

}  // namespace

std::uint64_t ChunkJoiner::joinedId(int source, std::uint64_t id) const {
  return id * static_cast<std::uint64_t>(sources_) + static_cast<std::uint64_t>(source);
}

void ChunkJoiner::put(Chunk chunk) {
  if (chunk.kind != ChunkKind::kEnd)
    end_.rows_by_kind[static_cast<std::size_t>(chunk.kind)] += chunk.rows;
  chunk.seq = next_seq_++;
  chunk.checksum = computeChecksum(chunk);
  take_(chunk);
}

namespace {

/// Decodes the rows of a chunk, changes each row, and encodes them again.
template <typename Row, typename Change>
std::size_t change(Chunk& chunk, Change change) {
  auto rows = decodeRows<Row>(chunk);
  for (Row& row : rows) change(row);
  chunk.body = encodeRows<Row>(rows);
  return rows.size();
}

}  // namespace

/// Reports whether the same chunk was written before. All ranks record the run and its groups
/// alike, and one copy is kept.
bool ChunkJoiner::isRepeated(const Chunk& chunk) {
  return !said_once_.insert({chunk.kind, std::string(chunk.body.begin(), chunk.body.end())}).second;
}

/// Keeps a note only when it differs from the last note of its key.
void ChunkJoiner::putNotes(const Chunk& chunk) {
  for (const Note& note : decodeRows<Note>(chunk)) {
    const auto known = notes_.find(note.key);
    if (known != notes_.end() && known->second == note.json) continue;
    notes_[note.key] = note.json;
    Chunk one = makeChunk(note);
    one.rank = chunk.rank;
    put(std::move(one));
  }
}

void ChunkJoiner::add(int source, Chunk chunk, std::int64_t clock_shift_ns) {
  auto shift = [&](std::int64_t& time_ns) { time_ns = shifted(time_ns, clock_shift_ns); };
  switch (chunk.kind) {
    case ChunkKind::kEvents:
      events_ += change<Event>(chunk, [&](Event& event) {
        shift(event.begin_ns);
        shift(event.start_ns);
        shift(event.end_ns);
      });
      break;
    case ChunkKind::kTimes:
      change<TimesRecord>(chunk, [&](TimesRecord& times) {
        shift(times.begin_ns);
        shift(times.start_ns);
        shift(times.end_ns);
      });
      break;
    case ChunkKind::kMemory:
      change<MemorySample>(chunk, [&](MemorySample& sample) { shift(sample.time_ns); });
      break;
    case ChunkKind::kTensors:
      change<TensorRecord>(chunk, [&](TensorRecord& record) {
        record.id = TensorId::of(joinedId(source, static_cast<std::uint64_t>(record.id.value())));
      });
      break;
    case ChunkKind::kValues:
      chunk.key = joinedId(source, chunk.key);
      break;
    case ChunkKind::kNotes:
      return putNotes(chunk);
    case ChunkKind::kRun:
    case ChunkKind::kIntent:
    case ChunkKind::kGroups:
      if (isRepeated(chunk)) return;
      break;
    case ChunkKind::kEnd: {
      const EndRecord end = decodeOne<EndRecord>(chunk);
      end_.dropped_events += end.dropped_events;
      end_.dropped_tensors += end.dropped_tensors;
      end_.run_clock_ns = std::max(end_.run_clock_ns, shifted(end.run_clock_ns, clock_shift_ns));
      return;
    }
    case ChunkKind::kSummaries:
      return;  // these describe the chunks of one source, not the joined ones
    case ChunkKind::kShards:
    case ChunkKind::kDiffs:
    case ChunkKind::kSchedule:
    case ChunkKind::kCount:
      break;
  }
  put(std::move(chunk));
}

void ChunkJoiner::finish(std::int64_t now_ns) {
  end_.events = events_;
  end_.run_clock_ns = std::max(end_.run_clock_ns, now_ns);
  put(makeChunk(end_));
}

}  // namespace ringscope::traces
