// SPDX-License-Identifier: Apache-2.0
#include "traces/join/chunk_joiner.h"

#include <algorithm>

#include "traces/core/error.h"

namespace ringscope::traces {
namespace {

/// A stranger's file may hold any number.
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
  chunk.seq = next_seq_++;
  chunk.checksum = computeChecksum(chunk);
  take_(chunk);
}

void ChunkJoiner::add(int source, Chunk chunk, std::int64_t clock_shift_ns) {
  switch (chunk.kind) {
    case ChunkKind::kEvents: {
      auto events = decodeEvents(chunk);
      for (Event& event : events) {
        event.begin_ns = shifted(event.begin_ns, clock_shift_ns);
        event.end_ns = shifted(event.end_ns, clock_shift_ns);
      }
      events_ += events.size();
      chunk.body = encodeEvents(events);
      break;
    }
    case ChunkKind::kMemory: {
      auto samples = decodeMemory(chunk);
      for (MemorySample& sample : samples) sample.time_ns = shifted(sample.time_ns, clock_shift_ns);
      chunk.body = encodeMemory(samples);
      break;
    }
    case ChunkKind::kTensors: {
      auto records = decodeTensors(chunk);
      for (TensorRecord& record : records) record.id = joinedId(source, record.id);
      chunk.body = encodeTensors(records);
      break;
    }
    case ChunkKind::kValues:
      chunk.key = joinedId(source, chunk.key);
      break;
    case ChunkKind::kNotes: {
      const Note note = decodeNote(chunk);
      if (const auto known = notes_.find(note.key);
          known != notes_.end() && known->second == note.json)
        return;
      notes_[note.key] = note.json;
      break;
    }
    case ChunkKind::kEnd: {
      const EndRecord end = decodeEnd(chunk);
      end_.dropped_events += end.dropped_events;
      end_.dropped_tensors += end.dropped_tensors;
      end_.run_clock_ns = std::max(end_.run_clock_ns, shifted(end.run_clock_ns, clock_shift_ns));
      return;
    }
    default:
      break;
  }
  put(std::move(chunk));
}

void ChunkJoiner::finish(std::int64_t now_ns) {
  end_.events = events_;
  end_.run_clock_ns = std::max(end_.run_clock_ns, now_ns);
  Chunk chunk;
  chunk.kind = ChunkKind::kEnd;
  chunk.rows = 1;
  chunk.body = encodeEnd(end_);
  put(std::move(chunk));
}

}  // namespace ringscope::traces
