// SPDX-License-Identifier: Apache-2.0
#include "traces/format/storage/chunk_source.h"

namespace ringscope::traces {

std::vector<std::uint64_t> ChunkSource::readAll(const std::function<void(Chunk)>& take,
                                                const Problem& damaged) {
  std::vector<std::uint64_t> rows = noRows();
  list(
      [&](const ChunkInfo& info, const std::function<Chunk()>& read) {
        if (info.kind != ChunkKind::kValues) take(read());
        rows[static_cast<std::size_t>(info.kind)] += info.rows;
      },
      damaged);
  return rows;
}

void addSummary(EventSummaries& summaries, const Chunk& chunk) {
  summaries[chunk.key] = decodeOne<EventSummary>(chunk);
}

void attachSummary(ChunkInfo& info, EventSummaries& summaries) {
  if (info.kind != ChunkKind::kEvents) return;
  const auto found = summaries.find(info.seq);
  if (found == summaries.end() || found->second.checksum != info.checksum) return;
  info.summary = std::move(found->second);
  summaries.erase(found);
}

Chunk summaryChunk(const ChunkHeader& events, EventSummary summary) {
  summary.checksum = events.checksum;
  Chunk chunk = makeChunk(summary);
  chunk.rank = events.rank;
  chunk.key = events.seq;
  return chunk;
}

}  // namespace ringscope::traces
